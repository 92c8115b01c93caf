import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createResyncGate, type ResyncGate } from '../../src/client/index.ts'
import type { Frame } from '../../src/index.ts'
import { COMPLETE, event, Feed, resync } from '../support/gate-frames.ts'
import { flush } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

/** What a reducer makes of the events: applied in order and once each, `last` counts up to the publisher's own. */
interface State {
  readonly epoch: string
  readonly last: number
}

type Step = { readonly do: 'publish' | 'lose' | 'restart' | 'connect'; readonly count: number }
type Turn = (name: string) => Promise<unknown>

const plans = fc.record({
  maxHeld: fc.integer({ min: 1, max: 6 }),
  bare: fc.boolean(),
  steps: fc.array(
    fc.record<Step>({
      do: fc.constantFrom('publish', 'publish', 'publish', 'lose', 'lose', 'restart', 'connect'),
      count: fc.integer({ min: 1, max: 5 }),
    }),
    { maxLength: 12 },
  ),
  /** What each load does: works, or fails before or after it has read the state, or brings nothing. */
  loads: fc.infiniteStream(
    fc.constantFrom('works', 'works', 'works', 'fails', 'is lost', 'is left to the user'),
  ),
})
type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never

/** The publisher: it knows its own state, and what a client of it is sent. */
class Server {
  state: State = { epoch: 'e1', last: 0 }
  #epochs = 1

  constructor(readonly send: (frame: Frame) => void) {}

  take({ do: what, count }: Step): void {
    const { epoch, last } = this.state
    if (what === 'restart') {
      // Ids overlap those of the epoch before.
      this.state = { epoch: `e${++this.#epochs}`, last: Math.max(0, last - count) }
      this.send(resync(this.state.last + 1, this.state.epoch))
    } else if (what === 'connect') this.send(COMPLETE)
    else {
      this.state = { epoch, last: last + count }
      if (what === 'lose') this.send(resync(last + count + 1, epoch))
      else for (let id = last + 1; id <= last + count; id++) this.send(event(id))
    }
  }
}

class Client {
  state: State = { epoch: 'e1', last: 0 }
  loading = 0
  readonly gate: ResyncGate
  readonly #loads: Iterator<string>
  #latest: unknown

  constructor(
    plan: Plan,
    readonly server: Server,
    readonly turn: Turn,
  ) {
    this.#loads = plan.loads[Symbol.iterator]()
    this.gate = createResyncGate({
      maxHeld: plan.maxHeld,
      onResync: async (frame) => {
        this.loading++
        try {
          return await this.#load(frame, plan.bare)
        } finally {
          this.loading--
        }
      },
    })
  }

  async #load(latest: unknown, bare: boolean): Promise<number | string | undefined> {
    this.#latest = latest
    const outcome = this.#loads.next().value as string
    await this.turn('request')
    if (outcome === 'fails') throw new Error('load')
    const loaded = this.server.state
    await this.turn('response')
    if (outcome === 'is lost') throw new Error('load')
    if (outcome === 'is left to the user') return undefined
    if (latest === this.#latest) this.state = loaded
    // A bare number says nothing about its epoch: only a client whose server does not restart may use it.
    return bare ? loaded.last : `${loaded.epoch}:${loaded.last}`
  }

  apply(frame: Frame): void {
    if (frame.id === undefined) return
    if (frame.id !== this.state.last + 1) throw new Error(`${frame.id} was applied to ${this.state.last}`)
    this.state = { ...this.state, last: frame.id }
  }

  /** What a user does about a load that failed or brought nothing. */
  async reload(): Promise<void> {
    const mine = {}
    this.#latest = mine
    const loaded = this.server.state
    await this.turn('reload')
    if (this.#latest !== mine) return
    this.state = loaded
    for (const frame of this.gate.resynced(`${loaded.epoch}:${loaded.last}`)) this.apply(frame)
  }

  async pushAll(frames: Frame[], finished: () => boolean): Promise<void> {
    const push = (frame: Frame) => {
      try {
        for (const released of this.gate.push(frame)) this.apply(released)
      } catch (error) {
        if ((error as Error).message !== 'load') throw error
      }
    }
    while (!finished() || frames.length > 0) {
      await this.turn('push')
      const frame = frames.shift()
      if (frame !== undefined) push(frame)
      if (this.gate.shut && this.loading === 0) await this.reload()
    }
    while (this.loading > 0 || this.gate.shut) {
      await this.turn('settle')
      if (this.gate.shut && this.loading === 0) await this.reload()
    }
    await flush()
    push(COMPLETE)
    push(COMPLETE)
  }

  async readThrough(feed: Feed): Promise<void> {
    for (;;) {
      try {
        for await (const frame of this.gate.through(feed)) {
          this.apply(frame)
          await this.turn('read')
        }
        if (!this.gate.shut) return
      } catch (error) {
        if ((error as Error).message !== 'load') throw error
      }
      if (this.gate.shut && this.loading === 0) await this.reload()
    }
  }
}

describe('a state that is reloaded while events arrive', () => {
  const property = (how: 'push' | 'through') =>
    fc.asyncProperty(fc.scheduler(), plans, async (scheduler, plan) => {
      const feed = new Feed()
      const frames: Frame[] = []
      let finished = false
      const server = new Server((frame) => (how === 'push' ? frames.push(frame) : feed.push(frame)))
      const turn = (name: string) => scheduler.schedule(Promise.resolve(), name)
      const client = new Client(plan, server, turn)
      const publish = async () => {
        for (const step of plan.steps) {
          await turn('publish')
          server.take(plan.bare && step.do === 'restart' ? { ...step, do: 'lose' } : step)
        }
        finished = true
        feed.end()
      }
      const consume = how === 'push' ? client.pushAll(frames, () => finished) : client.readThrough(feed)
      await scheduler.waitFor(Promise.all([publish(), consume]))
      expect(client.state).toEqual(server.state)
      expect(client.gate.shut).toBe(false)
    })

  it.each(['push', 'through'] as const)(
    'skips none and applies none twice, by %s, in any interleaving',
    async (how) => {
      await fc.assert(property(how), runs(300))
    },
    PROPERTY_TIMEOUT,
  )
})
