import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { range } from '../support/frames.ts'
import { drained } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

/** One publish, and those that it brings about from inside. */
interface Act {
  how:
    | 'plain'
    | 'refused'
    | 'unserialisable'
    | 'in filter'
    | 'in getter'
    | 'in toJSON'
    | 'in toJSON that throws'
    | 'in report'
  inside: Act[]
}

const { act } = fc.letrec<{ act: Act; leaf: Act; node: Act }>((tie) => ({
  act: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('node')),
  leaf: fc.record({
    how: fc.constantFrom('plain' as const, 'refused' as const, 'unserialisable' as const),
    inside: fc.constant([]),
  }),
  node: fc.record({
    how: fc.constantFrom(
      'in filter' as const,
      'in getter' as const,
      'in toJSON' as const,
      'in toJSON that throws' as const,
      'in report' as const,
    ),
    inside: fc.array(tie('act'), { maxLength: 2 }),
  }),
}))

/** Plays acts on a bus, and keeps the ids that publish returned in the order in which they were taken. */
class Stage {
  readonly returned: number[] = []
  readonly bus: EventBus
  readonly #onFilter = new Map<unknown, Act[]>()
  readonly #onReport: Act[][] = []

  constructor(ringSize: number) {
    this.bus = new EventBus({
      ringSize,
      maxRingBytes: 100_000,
      maxQueued: 100_000,
      onDiagnostic: () => this.play(this.#onReport.shift() ?? []),
    })
    this.bus.subscribe({
      filter: (event) => {
        const acts = this.#onFilter.get(event.data) ?? []
        this.#onFilter.delete(event.data)
        this.play(acts)
        return true
      },
    })
  }

  play(acts: Act[]): void {
    for (const act of acts) this.#play(act)
  }

  #play({ how, inside }: Act): void {
    const { bus } = this
    const play = () => this.play(inside)
    if (how === 'plain') this.#took(bus.publish({ type: 'tick' }))
    else if (how === 'refused') expect(bus.publish({ type: '' })).toBeUndefined()
    else if (how === 'unserialisable') expect(bus.publish({ type: 'tick', data: 1n })).toBeUndefined()
    else if (how === 'in filter') {
      const mark = `mark ${this.#onFilter.size} ${bus.lastEventId}`
      this.#onFilter.set(mark, inside)
      this.#took(bus.publish({ type: 'tick', data: mark }))
    } else if (how === 'in getter') {
      this.#took(
        bus.publish({
          type: 'tick',
          get data() {
            play()
            return 1
          },
        }),
      )
    } else if (how === 'in toJSON' || how === 'in toJSON that throws') {
      const toJSON = () => {
        play()
        if (how === 'in toJSON that throws') throw new Error('toJSON')
        return 1
      }
      const event = bus.publish({ type: 'tick', data: { toJSON } })
      if (how === 'in toJSON') this.#took(event)
      else expect(event).toBeUndefined()
    } else {
      this.#onReport.push(inside)
      expect(bus.publish({ type: '' })).toBeUndefined()
    }
  }

  #took(event: { id: number } | undefined): void {
    if (event === undefined) throw new Error('a plain event was refused')
    this.returned.push(event.id)
  }
}

describe('ids', () => {
  it(
    'are contiguous and increasing under any mix of publish, refused publish and re-entrant publish',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(act, { maxLength: 12 }),
          fc.integer({ min: 0, max: 10 }),
          async (acts, ringSize) => {
            const stage = new Stage(ringSize)
            const { bus } = stage
            const live = bus.subscribe({ warnings: false })
            stage.play(acts)
            const head = bus.lastEventId
            // Each id was given to exactly one publish …
            expect([...stage.returned].sort((a, b) => a - b)).toEqual(range(1, head))
            // … every subscriber saw them in order …
            const seen = (await drained(live)).values.map((frame) => frame.id)
            expect(seen).toEqual(range(1, head))
            // … and the ring holds the last of them.
            const kept = (await drained(bus.subscribe({ from: 'earliest' }))).values
            expect(kept.slice(0, -1).map((frame) => frame.id)).toEqual(
              range(Math.max(1, head - ringSize + 1), head),
            )
            expect(bus.stats()).toMatchObject({ published: head, ringEvents: Math.min(head, ringSize) })
          },
        ),
        runs(200),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
