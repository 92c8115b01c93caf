/** Nodes of one bus on a test's own Redis, and readers that keep books of what they are given. */

import { createClient } from 'redis'
import { onTestFinished } from 'vitest'
import type { BusEvent, Frame, StateResyncRequired, SubscribeOptions } from '../../src/index.ts'
import {
  createRedisBus,
  type RedisBus,
  type RedisBusOptions,
  type RedisDiagnostic,
} from '../../src/redis/index.ts'
import type { Fate } from './chaos-plan.ts'
import { chaosProxy } from './chaos-proxy.ts'
import { Ledger } from './ledger.ts'
import type { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

export const KEY = 'bus'

/** Milliseconds a test waits for what must come; nothing is asserted of how long it takes. */
const PATIENCE = 20_000

export interface Node {
  readonly bus: RedisBus
  readonly reports: RedisDiagnostic[]
  /** Types of what was reported of the backend, in order. */
  readonly changes: string[]
}

let nodes = 0

/** A node with connections of its own, as if it were a process. Closed after the test. */
export async function node(url: string, options: Partial<RedisBusOptions> = {}): Promise<Node> {
  const reports: RedisDiagnostic[] = []
  const bus = await createRedisBus({
    // A link is shared by clients of one address: the query makes it another one, and Redis knows none.
    client: createClient({ url: `${url}?node=${++nodes}` }),
    key: KEY,
    onDiagnostic: (report) => reports.push(report),
    ...options,
  })
  onTestFinished(() => bus.close({ drain: false }))
  return {
    bus,
    reports,
    get changes() {
      return reports.map(({ type }) => type).filter((type) => type.startsWith('backend_'))
    },
  }
}

/** Two of them on the same stream. */
export async function pair(url: string, options: Partial<RedisBusOptions> = {}): Promise<[Node, Node]> {
  return [await node(url, options), await node(url, options)]
}

/** A node that hears late of what others publish, though what it asks is answered at once. */
export async function lagging(server: RedisServer): Promise<Node> {
  const slow: Fate = {
    ...{ place: 'anywhere', from: Infinity, way: 'reset', pieces: Infinity },
    ...{ holdMs: 0, delayMs: 300, stallMs: 0 },
  }
  let connections = 0
  // The second connection is the one that reads.
  const proxy = await chaosProxy(server.port, () => (++connections % 2 === 0 ? slow : undefined))
  return node(`redis://127.0.0.1:${proxy.port}`)
}

/** Publishes one behind the other, and returns the events. */
export async function publish(bus: RedisBus, count: number): Promise<BusEvent[]> {
  const events: BusEvent[] = []
  for (let n = 0; n < count; n++) {
    const event = await bus.publish({ type: 'tick', data: n })
    if (event === undefined) throw new Error('the bus refused a plain event')
    events.push(event)
  }
  return events
}

/** Reads one subscription to its end. Whatever contradicts the books is kept, and thrown at whoever asks. */
export class Follower {
  readonly events: BusEvent[] = []
  readonly resyncs: StateResyncRequired['data'][] = []
  isOver = false
  /** Resolves when the subscription has ended. */
  readonly over: Promise<void>
  readonly #bus: RedisBus
  readonly #ledger: Ledger
  #fault: unknown

  constructor(bus: RedisBus, options: SubscribeOptions = {}) {
    const { lastEventId = bus.lastEventId, epoch = bus.epoch } = options
    this.#bus = bus
    this.#ledger = new Ledger(epoch, lastEventId + 1, { resyncAnywhere: true })
    this.#ledger.opened({ replay: options.lastEventId !== undefined })
    this.over = this.#read(bus.subscribe({ maxQueued: Infinity, ...options }))
  }

  get cursor() {
    return this.#ledger.cursor
  }

  /** Reasons of the resyncs. */
  get reasons(): string[] {
    return this.resyncs.map(({ reason }) => reason)
  }

  /** Settles when it has, or was told that it lacks, everything up to this event of the epoch that its node is in. */
  async upTo(event: BusEvent): Promise<this> {
    const isThere = () => {
      if (this.#fault !== undefined) throw this.#fault
      return this.cursor.epoch === this.#bus.epoch && this.cursor.lastEventId >= event.id
    }
    await until(isThere, `event ${event.id}, after ${JSON.stringify(this.cursor)}`, PATIENCE).catch(
      (error) => {
        error.message += ` now ${JSON.stringify(this.cursor)}`
        throw error
      },
    )
    return this
  }

  async #read(frames: AsyncIterable<Frame>): Promise<void> {
    try {
      for await (const frame of frames) {
        this.#ledger.enter(frame)
        if (frame.type === 'state_resync_required') this.resyncs.push((frame as StateResyncRequired).data)
        else if (frame.id !== undefined) this.events.push(frame as BusEvent)
      }
    } catch (fault) {
      this.#fault = fault
    }
    this.isOver = true
  }
}

/** Publishes a hundred at a time, without a pause, until it is told to stop; says what was acknowledged. */
export class Publisher {
  readonly acknowledged: BusEvent[] = []
  readonly errors: unknown[] = []
  published = 0
  readonly #bus: RedisBus
  readonly #name: string
  readonly #burst: number
  #isStopped = false
  readonly #run: Promise<void>

  constructor({ bus }: Node, name: string, burst = 100) {
    this.#bus = bus
    this.#name = name
    this.#burst = burst
    this.#run = this.#publish()
    onTestFinished(() => this.stop())
  }

  /** Settles when so many more were acknowledged. */
  async more(count: number): Promise<void> {
    const goal = this.acknowledged.length + count
    await until(() => this.acknowledged.length >= goal, `${goal} of ${this.#name} to be stored`, PATIENCE)
  }

  /** Settles when what is on its way was acknowledged or refused. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#run
  }

  async #publish(): Promise<void> {
    while (!this.#isStopped) {
      const burst = Array.from({ length: this.#burst }, () =>
        this.#bus.publish({ type: 'said', data: { by: this.#name, n: ++this.published } }).then(
          (event) => {
            if (event !== undefined) this.acknowledged.push(event)
          },
          (error) => {
            this.errors.push(error)
          },
        ),
      )
      await Promise.all(burst)
    }
  }
}

/** What one publisher said, as somebody was given it. */
export function saidBy(name: string, events: readonly BusEvent[]): number[] {
  return events
    .map(({ data }) => data as { by?: string; n?: number } | null)
    .flatMap((data) => (data?.by === name && data.n !== undefined ? [data.n] : []))
}
