import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { type ResumableSession, SessionRegistry } from '../../src/session/index.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'
import { FakeTransport } from '../support/session-transport.ts'
import { hops } from '../support/until.ts'

/** Every pump has nothing left to do: less would leave out what it does behind its last send. */
const idle = () => hops(120)

interface Limits {
  readonly shared: number
  readonly maxReplies: number
  readonly maxReplyBytes: number
}

interface Kept {
  readonly size: number
  taken: boolean
}

/** What is kept, by the rules as they are told: lists, and sums made anew each time. */
class Ledger {
  readonly #limits: Limits
  /** By session, those that replied first in front; of each, oldest first. */
  readonly #sessions = new Map<string, Kept[]>()

  constructor(limits: Limits) {
    this.#limits = limits
  }

  add(session: string, size: number): boolean {
    const { shared, maxReplies, maxReplyBytes } = this.#limits
    const own = this.of(session)
    this.#sessions.set(session, own)
    while (own.length >= maxReplies || sum(own) + size > maxReplyBytes) if (!spare(own)) return false
    const fits = () => sum([...this.#sessions.values()].flat()) + size <= shared
    for (const one of [own, ...this.#sessions.values()]) while (!fits() && spare(one));
    if (!fits()) return false
    own.push({ size, taken: false })
    return true
  }

  of(session: string): Kept[] {
    return this.#sessions.get(session) ?? []
  }

  close(session: string): void {
    this.#sessions.delete(session)
  }
}

const sum = (kept: Kept[]) => kept.reduce((total, { size }) => total + size, 0)

/** Lets go of the oldest, which may go if it was taken. */
const spare = (kept: Kept[]) => kept[0]?.taken === true && kept.shift() !== undefined

const IDS = ['a', 'b', '__proto__']
const id = fc.constantFrom(...IDS)
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('reply' as const), id, size: fc.integer({ min: 2, max: 30 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('attach', 'confirm', 'void', 'drop', 'close'), id }),
    },
  ),
  { maxLength: 40, size: 'max' },
)
const limits: fc.Arbitrary<Limits> = fc.record({
  shared: fc.constantFrom(40, 100, 1000),
  maxReplies: fc.constantFrom(2, 5, Infinity),
  maxReplyBytes: fc.constantFrom(30, 60, Infinity),
})

it(
  'sessions keep what the limits say, close where nothing can be spared, and give back every byte',
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, limits, async (plan, { shared, ...own }) => {
        const ledger = new Ledger({ shared, ...own })
        const sessions = new SessionRegistry({ maxReplyBytes: shared })
        const transports = new Map<string, FakeTransport>()
        const buses = new Map(IDS.map((id) => [id, new EventBus()]))
        const open = new Map<string, ResumableSession>()
        for (const [id, bus] of buses) {
          open.set(id, sessions.create({ id, bus, graceMs: Infinity, limits: own }))
        }
        const close = (id: string) => {
          ledger.close(id)
          open.delete(id)
        }
        for (const step of plan) {
          const session = open.get(step.id)
          if (session === undefined) continue
          switch (step.do) {
            case 'reply': {
              const { size } = step as { size: number }
              const fits = ledger.add(step.id, size)
              expect(session.reply('x'.repeat(size - '""'.length))).toBe(fits)
              if (!fits) close(step.id)
              break
            }
            case 'drop':
              transports.get(step.id)?.drop()
              transports.delete(step.id)
              break
            case 'close':
              session.close()
              close(step.id)
              break
            default: {
              const transport = new FakeTransport()
              transports.set(step.id, transport)
              const head = buses.get(step.id)?.lastEventId ?? 0
              const cursor = { attach: undefined, confirm: head, void: 0 }[step.do as 'attach']
              session.attach(transport, cursor === undefined ? {} : { lastEventId: cursor })
              // Each that was taken has its fence by now, and the head is at or past it.
              if (step.do === 'confirm') while (spare(ledger.of(step.id)));
            }
          }
          await idle()
          if (transports.has(step.id)) for (const kept of ledger.of(step.id)) kept.taken = true
          expect(sessions.size).toBe(open.size)
        }
        sessions.closeAll()
        const whole = sessions.create({
          id: 'whole',
          bus: new EventBus(),
          limits: { maxReplyBytes: Infinity },
        })
        expect(whole.reply('x'.repeat(shared - '""'.length))).toBe(true)
        expect(whole.reply('')).toBe(false)
      }),
      runs(300),
    )
  },
  PROPERTY_TIMEOUT,
)
