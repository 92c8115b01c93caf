import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { ResumableSession } from '../../src/session/index.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'
import { fakeTime } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'
import { hops } from '../support/until.ts'

const now = () => performance.now()

const idle = () => hops(120)

/** Which hooks a session calls, and when it ends, by the rules as they are told: one clock, and two times on it. */
class Life {
  readonly hooks: string[] = []
  transport: FakeTransport | undefined
  isClosed = false
  readonly #graceMs: number
  readonly #stallTimeoutMs: number
  #wasAttached = false
  #isDrained = false
  #isOverdue = false
  #graceEnds = Infinity
  #stalls = Infinity

  constructor(graceMs: number, stallTimeoutMs: number) {
    this.#graceMs = graceMs
    this.#stallTimeoutMs = stallTimeoutMs || Infinity
  }

  attach(transport: FakeTransport): void {
    if (this.isClosed) return
    if (this.transport) this.hooks.push('replace')
    else if (this.#wasAttached) this.hooks.push('reclaim')
    this.transport = transport
    this.#wasAttached = true
    if (!this.#isDrained) this.#graceEnds = Infinity
    this.sends()
  }

  /** Whether a send is pending; a new one counts from now. */
  sends(isNew = true): void {
    const isPending = this.transport !== undefined && this.transport.pending.length > 0
    if (!isPending) this.#stalls = Infinity
    else if (isNew || this.#stalls === Infinity) this.#stalls = now() + this.#stallTimeoutMs
  }

  leave(): void {
    this.transport = undefined
    this.#stalls = Infinity
    this.hooks.push('detach')
    if (this.#graceMs === 0 || this.#isOverdue) this.#graceOver()
    else if (this.#graceEnds === Infinity) this.#graceEnds = now() + this.#graceMs
  }

  /** The bus has ended, and the transport has taken everything. */
  drain(): void {
    this.#isDrained = true
    this.leave()
  }

  close(reason: string): void {
    if (this.isClosed) return
    this.isClosed = true
    this.transport = undefined
    this.#graceEnds = this.#stalls = Infinity
    this.hooks.push(`close ${reason}`)
  }

  get next(): number {
    return Math.min(this.#graceEnds, this.#stalls)
  }

  due(): void {
    if (this.#stalls <= now()) this.leave()
    else {
      this.#graceEnds = Infinity
      if (this.transport) this.#isOverdue = true
      else this.#graceOver()
    }
  }

  #graceOver(): void {
    if (!this.#isDrained) this.hooks.push('expire')
    this.close(this.#isDrained ? 'bus_ended' : 'expired')
  }
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('attach', 'attach held'), resumes: fc.boolean() }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('drop', 'detach', 'refuse') }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('open', 'publish', 'reply') }) },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(1, 9, 10, 11, 49, 50, 51) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('cancel', 'end') }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('close', 'close the bus') }) },
  ),
  { maxLength: 40, size: 'max' },
)

it(
  'a session detaches, comes back, expires and ends when the rules say so, and leaves no timer',
  async () => {
    fakeTime()
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.constantFrom(0, 10, Infinity),
        fc.constantFrom(0, 50, Infinity),
        async (plan, graceMs, stallTimeoutMs) => {
          vi.clearAllTimers()
          const bus = new EventBus()
          const life = new Life(graceMs, stallTimeoutMs)
          const hooks: string[] = []
          const note = (name: string) => (reason?: unknown) => {
            hooks.push(reason === undefined ? name : `${name} ${reason}`)
          }
          const session = new ResumableSession({
            id: 's',
            bus,
            graceMs,
            stallTimeoutMs,
            onDetach: note('detach'),
            onReclaim: note('reclaim'),
            onReplace: note('replace'),
            onExpire: note('expire'),
            onClose: note('close'),
            onCancel: note('cancel'),
          })
          const caughtUp = async (isNew?: boolean) => {
            await idle()
            life.sends(isNew)
            if (life.transport?.pending.length === 0 && bus.ended) life.drain()
            await idle()
          }
          const pass = async (ms: number) => {
            const end = now() + ms
            while (life.next <= end) {
              await vi.advanceTimersByTimeAsync(life.next - now())
              life.due()
              await caughtUp(false)
            }
            await vi.advanceTimersByTimeAsync(end - now())
          }
          for (const step of plan) {
            const { transport } = life
            switch (step.do) {
              case 'attach':
              case 'attach held': {
                const next = new FakeTransport({ held: step.do === 'attach held' })
                const { resumes } = step as { resumes: boolean }
                const attached = session.attach(next, resumes ? { lastEventId: 0 } : {})
                expect(attached).toBe(!life.isClosed)
                life.attach(next)
                break
              }
              case 'drop':
                transport?.drop()
                if (transport) life.leave()
                break
              case 'detach':
                if (transport) session.detach(transport)
                if (transport) life.leave()
                break
              case 'refuse':
                if (!transport?.pending.length) break
                transport.refuse()
                life.leave()
                break
              case 'open':
                transport?.open()
                if (transport) transport.held = false
                break
              case 'publish':
                bus.publish({ type: 'tick' })
                break
              case 'reply':
                session.reply('R')
                break
              case 'cancel':
                session.cancel()
                if (!life.isClosed) life.hooks.push('cancel')
                break
              case 'end':
                bus.end()
                break
              case 'close':
                session.close('done')
                life.close('done')
                break
              case 'close the bus':
                bus.close()
                life.close('bus_closed')
                break
              case 'pass':
                await pass((step as { ms: number }).ms)
            }
            await caughtUp(step.do.startsWith('attach') || step.do === 'open')
            expect(hooks).toEqual(life.hooks)
            const isAttached = life.transport !== undefined
            expect(session.state).toBe(life.isClosed ? 'closed' : isAttached ? 'attached' : 'detached')
            expect(session.signal.aborted).toBe(life.isClosed)
            expect(bus.subscriberCount).toBe(isAttached && !bus.ended ? 1 : 0)
          }
          session.close()
          expect(vi.getTimerCount()).toBe(0)
        },
      ),
      runs(300),
    )
  },
  PROPERTY_TIMEOUT,
)
