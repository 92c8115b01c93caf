import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Subscription } from '../../src/index.ts'
import { Ledger } from '../support/ledger.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'
import { type ConformingBus, nextFrame, publish, publishEvent, type World } from './world.ts'

/** `on` is a node, for a backend that has several. */
type Step =
  | { do: 'publish'; count: number; on: number }
  | { do: 'read'; count: number }
  | { do: 'cut'; how: 'return' | 'abort' | 'throw'; on: number }

interface Plan {
  ringSize: number
  maxQueued: number
  start: 'live' | 'earliest' | 'from 0'
  before: number
  steps: Step[]
}

const upTo = (max: number) => fc.integer({ min: 1, max })
const on = fc.constantFrom(0, 1)

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), count: upTo(4), on }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), count: upTo(6) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('cut' as const),
      how: fc.constantFrom('return' as const, 'abort' as const, 'throw' as const),
      on,
    }),
  },
)

const plans: fc.Arbitrary<Plan> = fc.record({
  ringSize: fc.integer({ min: 0, max: 5 }),
  maxQueued: upTo(5),
  start: fc.constantFrom('live' as const, 'earliest' as const, 'from 0' as const),
  before: fc.integer({ min: 0, max: 6 }),
  steps: fc.array(steps, { maxLength: 20 }),
})

/** One consumer over any number of streams, and its books. */
class Consumer {
  #bus: ConformingBus
  readonly #maxQueued: number
  readonly books: Ledger
  #controller = new AbortController()
  #subscription: Subscription
  #replaying: boolean

  constructor(bus: ConformingBus, { start, maxQueued }: Plan, resyncAnywhere: boolean) {
    this.#bus = bus
    this.#maxQueued = maxQueued
    const first = { live: bus.lastEventId + 1, earliest: bus.earliestAvailableId, 'from 0': 1 }[start]
    this.books = new Ledger(bus.epoch, first, { resyncAnywhere })
    const cursor = { live: {}, earliest: { from: 'earliest' as const }, 'from 0': { lastEventId: 0 } }[start]
    this.#replaying = start !== 'live'
    this.#subscription = this.#subscribe(cursor)
  }

  #subscribe(cursor: object): Subscription {
    this.books.opened({ replay: this.#replaying })
    this.#controller = new AbortController()
    const { signal } = this.#controller
    return this.#bus.subscribe({ signal, maxQueued: this.#maxQueued, ...cursor })
  }

  /** Goes on from the books' cursor. */
  #resume(): void {
    this.#replaying = true
    this.#subscription = this.#subscribe(this.books.cursor)
  }

  /** Leaves its stream, and goes on with that node. */
  async cut(how: 'return' | 'abort' | 'throw', bus: ConformingBus): Promise<void> {
    if (how === 'abort') this.#controller.abort()
    else if (how === 'return') await this.#subscription.return()
    else await this.#subscription.throw(new Error('cut')).catch(() => {})
    expect(await nextFrame(this.#subscription)).toBeUndefined()
    this.#bus = bus
    this.#resume()
  }

  /** Up to `count` frames, as long as one is sure to come. */
  async read(count: number): Promise<void> {
    for (let left = count; left > 0 && this.#owed; left--) await this.#readOne()
  }

  /** Reads until that event was received or told to be lost. */
  async readTo(id: number): Promise<void> {
    while (this.books.cursor.lastEventId < id || this.#replaying) await this.#readOne()
  }

  get #owed(): boolean {
    return this.#replaying || this.#subscription.queued > 0 || this.#subscription.closed
  }

  /** A stream that ended is resumed. */
  async #readOne(): Promise<void> {
    const frame = await nextFrame(this.#subscription)
    if (frame === undefined) this.#resume()
    else {
      this.books.enter(frame)
      if (frame.type === 'replay_complete') this.#replaying = false
    }
  }
}

export function conservation({ open, has }: World): void {
  it(
    'what was received and what was told to be lost are all that was published, once and in order',
    async () => {
      await fc.assert(
        fc.asyncProperty(plans, async (plan) => {
          const { bus, another, close } = await open({ ringSize: plan.ringSize })
          const nodes = [bus, (await another?.()) ?? bus]
          await publish(bus, plan.before)
          const consumer = new Consumer(bus, plan, !has('lasting replay'))
          // `from` tells no gap, and begins with what the log holds once it is asked.
          if (plan.start === 'earliest' && !has('lasting replay')) await consumer.read(Infinity)
          for (const step of plan.steps) {
            if (step.do === 'read') await consumer.read(step.count)
            else if (step.do === 'publish') await publish(nodes[step.on] ?? bus, step.count)
            else await consumer.cut(step.how, nodes[step.on] ?? bus)
          }
          const { id } = await publishEvent(bus, { type: 'last' })
          await consumer.readTo(id)
          consumer.books.close(bus.epoch, id)
          await close()
        }),
        runs(40),
      )
    },
    PROPERTY_TIMEOUT,
  )
}
