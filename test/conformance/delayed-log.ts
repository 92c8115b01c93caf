/**
 * A bus as a backend makes it, without one: a log, and nodes that follow it, each some turns of the event loop behind.
 * `publish` and `end` are promises, events have been through JSON, a resumed stream is judged turns after `subscribe`
 * against the log and not the node, and a cursor may name an event that the node has not read yet.
 */

import {
  type BusEvent,
  type BusStats,
  type CloseOptions,
  type Diagnostic,
  EventBus,
  type Frame,
  type PublishInput,
  type SubscribeOptions,
  type Subscription,
} from '../../src/index.ts'
import { DelayedReplay, late, resumed } from './delayed-replay.ts'
import type { ConformingBus, Opened, OpenOptions } from './world.ts'

/** Some turns, other ones each time and the same in every run; a later node is further behind. */
function delays(node: number): () => Promise<void> {
  let count = 0
  return async () => {
    const turns = ((count++ * 7) % 4) + 4 * node
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

class Node implements ConformingBus {
  readonly #log: EventBus
  /** Sees every input before it travels, and refuses what cannot. */
  readonly #door: EventBus
  /** Sees every option of a subscription. */
  readonly #checks: EventBus
  /** Whom this node serves. */
  readonly #bus: EventBus
  readonly #following: Subscription
  readonly #delay: () => Promise<void>
  readonly #replays = new Map<Subscription, DelayedReplay | undefined>()
  #resyncs = 0
  /** Who waits for this node to have read more of the log. */
  #waiting: (() => void)[] = []

  constructor(log: EventBus, options: OpenOptions, index: number) {
    const { onDiagnostic, ...rest } = options
    this.#log = log
    this.#checks = new EventBus({ ...rest, maxSubscribers: 1 })
    this.#door = new EventBus({ ringSize: 0, maxRingBytes: 1, onDiagnostic })
    this.#bus = new EventBus({ ...options, epoch: log.epoch, startAfterId: log.lastEventId })
    this.#delay = delays(index)
    this.#following = log.subscribe({ maxQueued: Infinity })
    void this.#follow()
  }

  get epoch(): string {
    return this.#log.epoch
  }

  get lastEventId(): number {
    return this.#bus.lastEventId
  }

  get earliestAvailableId(): number {
    return Math.min(this.#log.earliestAvailableId, this.lastEventId + 1)
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
    const draft = this.ended ? undefined : this.#door.publish(input)
    if (draft === undefined) return undefined
    const travelling = JSON.stringify(draft)
    await this.#delay()
    const event = this.closed ? undefined : this.#log.publish(JSON.parse(travelling))
    if (event !== undefined) await this.#until(() => this.lastEventId >= event.id)
    return event
  }

  subscribe(options: SubscribeOptions = {}): Subscription<Frame> {
    void this.#checks.subscribe(options).return()
    const { lastEventId: cursor, from, ...live } = options
    const resuming = cursor !== undefined || from !== undefined
    if (resuming && this.ended && !this.closed) return late(this.#log.subscribe(options), this.#delay())
    const head = this.lastEventId
    const waits = cursor !== undefined && cursor > head && cursor <= this.#log.lastEventId
    if (waits) live.filter = (event) => event.id > cursor && (options.filter?.(event) ?? true)
    const subscription = this.#bus.subscribe(live)
    const report = (diagnostic: Diagnostic) => {
      if (diagnostic.type === 'state_resync_required') this.#resyncs++
      subscription.report(diagnostic)
    }
    const replay = resuming ? new DelayedReplay(this.#log, options, head, report) : undefined
    this.#replays.set(subscription, replay)
    if (replay === undefined) return subscription
    const epoch = cursor === undefined ? this.epoch : (options.epoch ?? this.epoch)
    return late(resumed(subscription, replay, epoch), this.#delay())
  }

  async end(): Promise<void> {
    await this.#delay()
    if (this.closed) return
    this.#log.end()
    await this.#until(() => this.ended)
  }

  async close(options?: CloseOptions): Promise<void> {
    this.#bus.close(options)
    void this.#following.return()
    this.#wake()
    await this.#delay()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ drain: false })
  }

  stats(): BusStats {
    const { ringEvents, ringBytes } = this.#log.stats()
    const { subscribers, ...counts } = this.#bus.stats()
    for (const subscription of this.#replays.keys()) {
      if (subscription.closed) this.#replays.delete(subscription)
    }
    const replays = [...this.#replays.values()]
    return {
      ...counts,
      rejected: this.#door.stats().rejected,
      resyncs: this.#resyncs,
      earliestAvailableId: this.earliestAvailableId,
      ringEvents,
      ringBytes,
      subscribers: subscribers.map((one, i) => ({ ...one, replaying: replays[i]?.position !== undefined })),
    }
  }

  async #follow(): Promise<void> {
    for await (const event of this.#following) {
      await this.#delay()
      this.#bus.publish(event as PublishInput)
      this.#wake()
    }
    if (!this.closed) this.#bus.end()
    this.#wake()
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.closed) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

export async function openDelayedLog(options: OpenOptions): Promise<Opened> {
  const { ringSize, maxRingBytes, maxQueuedBytes } = options
  const log = new EventBus({ ringSize, maxRingBytes, maxQueuedBytes })
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
