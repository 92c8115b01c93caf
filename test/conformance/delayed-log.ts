/**
 * A bus as a backend makes it, without one: a log of JSON, and nodes that follow it, each some turns of the event loop
 * behind. `publish` and `end` are promises, a resumed stream needs turns before its first frame, and a cursor may name an
 * event that this node has not read yet.
 */

import {
  type BusEvent,
  type BusLike,
  type BusStats,
  type CloseOptions,
  EventBus,
  type Frame,
  type FrameBatches,
  type PublishInput,
  type SubscribeOptions,
  type Subscription,
} from '../../src/index.ts'
import type { ConformingBus, Opened, OpenOptions } from './world.ts'

/** What the nodes share: entries are the JSON of an event without its id, or the end. */
class Log {
  readonly epoch = new EventBus().epoch
  readonly entries: (string | 'end')[] = []
  readonly #followers = new Set<() => void>()

  get ended(): boolean {
    return this.entries.at(-1) === 'end'
  }

  /** The number of the entry; the id of its event. Nothing follows an end. */
  append(entry: string): number | undefined {
    if (this.ended) return undefined
    this.entries.push(entry)
    for (const follower of this.#followers) follower()
    return this.entries.length
  }

  follow(follower: () => void): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}

/** Between none and three turns, the same in every run. */
function delays(seed: number): () => Promise<void> {
  let count = seed
  return async () => {
    for (let turns = (count++ * 7) % 4; turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve))
  }
}

class Node implements ConformingBus {
  readonly #log: Log
  /** Sees an input before it travels: refuses and reports it, or turns it into JSON. */
  readonly #door: EventBus
  readonly #bus: EventBus
  readonly #delay: () => Promise<void>
  readonly #unfollow: () => void
  #applied = 0
  #following = false
  /** Who waits for an entry to be applied here. */
  #waiting: (() => void)[] = []

  constructor(log: Log, options: OpenOptions, seed: number) {
    this.#log = log
    this.#bus = new EventBus({ ...options, epoch: log.epoch })
    this.#door = new EventBus({ ringSize: 0, maxRingBytes: 1, onDiagnostic: options.onDiagnostic })
    this.#delay = delays(seed)
    this.#unfollow = log.follow(() => this.#catchUp())
    this.#catchUp()
  }

  get epoch(): string {
    return this.#bus.epoch
  }

  get lastEventId(): number {
    return this.#bus.lastEventId
  }

  get earliestAvailableId(): number {
    return this.#bus.earliestAvailableId
  }

  get subscriberCount(): number {
    return this.#bus.subscriberCount
  }

  get ended(): boolean {
    return this.#bus.ended
  }

  get closed(): boolean {
    return this.#bus.closed
  }

  async publish(input: PublishInput): Promise<BusEvent | undefined> {
    if (this.ended) return undefined
    const draft = this.#door.publish(input)
    if (draft === undefined) return undefined
    const entry = JSON.stringify(draft)
    await this.#delay()
    const id = this.closed ? undefined : this.#log.append(entry)
    return id === undefined ? undefined : this.#event(id, entry)
  }

  /** As its publisher has it, once this node gave it to its subscribers. */
  async #event(id: number, entry: string): Promise<BusEvent> {
    await this.#reached(id)
    return Object.freeze({ ...JSON.parse(entry), id })
  }

  subscribe(options: SubscribeOptions = {}): Subscription<Frame> {
    const { lastEventId: cursor, epoch = this.epoch } = options ?? {}
    const { lastEventId: head } = this
    const ahead = cursor !== undefined && cursor > head && cursor <= this.#log.entries.length
    // Waits for its cursor: whatever comes before that was seen.
    if (ahead && epoch === this.epoch) {
      const { filter = () => true } = options
      const behind = (event: BusEvent) => event.id > cursor && filter(event)
      return late(this.#bus.subscribe({ ...options, lastEventId: head, filter: behind }), this.#delay())
    }
    const subscription = this.#bus.subscribe(options)
    return cursor === undefined && options.from === undefined
      ? subscription
      : late(subscription, this.#delay())
  }

  async end(): Promise<void> {
    if (this.closed) return
    await this.#delay()
    this.#log.append('end')
    await this.#reached(this.#log.entries.length)
  }

  async close(options?: CloseOptions): Promise<void> {
    this.#bus.close(options)
    this.#unfollow()
    this.#wake()
    await this.#delay()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ drain: false })
  }

  stats(): BusStats {
    return { ...this.#bus.stats(), rejected: this.#door.stats().rejected }
  }

  async #reached(entry: number): Promise<void> {
    while (this.#applied < entry && !this.closed) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #catchUp(): Promise<void> {
    if (this.#following) return
    this.#following = true
    while (this.#applied < this.#log.entries.length && !this.closed) {
      await this.#delay()
      const entry = this.#log.entries[this.#applied++] as string
      if (entry === 'end') this.#bus.end()
      else this.#bus.publish(JSON.parse(entry))
      this.#wake()
    }
    this.#following = false
  }
}

/** A subscription whose frames need until then to come. */
function late(subscription: Subscription, when: Promise<void>): Subscription {
  let here = false
  const ready = when.then(() => {
    here = true
  })
  const delayed =
    <T>(read: () => Promise<T>) =>
    () =>
      ready.then(read)
  const delayedBatches = (batches: FrameBatches) => {
    batches.next = delayed(batches.next)
    return batches
  }
  const { next, batches, tryNext, receive } = subscription
  return Object.assign(subscription, {
    next: delayed(() => next.call(subscription)),
    batches: () => delayedBatches(batches.call(subscription)),
    tryNext: () => (here ? tryNext.call(subscription) : undefined),
    receive: (...callbacks: Parameters<Subscription['receive']>) =>
      void ready.then(() => receive.apply(subscription, callbacks)),
  } satisfies Partial<BusLike & Subscription>)
}

export async function openDelayedLog(options: OpenOptions): Promise<Opened> {
  const log = new Log()
  const nodes: Node[] = []
  const another = async () => {
    const node = new Node(log, options, nodes.length)
    nodes.push(node)
    return node
  }
  return {
    bus: await another(),
    another,
    close: async () => {
      for (const node of nodes) await node.close({ drain: false })
    },
  }
}
