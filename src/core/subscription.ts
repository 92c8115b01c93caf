/**
 * One subscriber: its backlog, the rules that bound it, and the one place where it ends.
 *
 * A stream is the replay (if any), then the live events above the head at the moment of `subscribe`. Only live events that
 * were not read count against the caps. However a subscription ends, `#leave` frees its slot and its abort listener.
 */

import { asyncDispose } from '../internal/dispose.ts'
import { type Kept, keptOf } from '../internal/kept.ts'
import type { FrameBatches, Subscription } from './bus-like.ts'
import type { Diagnostic, SubscriberStats } from './diagnostics.ts'
import {
  type BacklogFigures,
  type BusEvent,
  type ClientEvicted,
  controlFrame,
  type Frame,
  type SlowClientWarning,
  type StateResyncRequired,
} from './event.ts'
import { Gauge } from './gauge.ts'
import type { Hub } from './hub.ts'
import { BoundedAsyncQueue } from './queue.ts'
import type { Replay } from './replay.ts'

/** A subscription as the bus asks for it: everything checked, every default filled in. */
export interface SubscriptionPlan {
  /** The last id published so far: what is above it is live. */
  readonly head: number
  /** The cursor, the head, or with `from` the id before the first replayed one. */
  readonly start: number
  /** The epoch of `start`. */
  readonly epoch: string
  readonly passes: ((event: BusEvent) => boolean) | undefined
  readonly maxQueued: number
  readonly maxQueuedBytes: number
  readonly warnings: boolean
  readonly signal: AbortSignal | undefined
}

class FrameQueue extends BoundedAsyncQueue<Frame> {
  lastDeliveredId: number
  epoch: string

  constructor({ start, epoch, maxQueued, maxQueuedBytes }: SubscriptionPlan) {
    super({ maxSize: maxQueued, maxBytes: maxQueuedBytes })
    this.lastDeliveredId = start
    this.epoch = epoch
  }

  get firstQueuedId(): number | undefined {
    return this.firstLive()?.id
  }

  protected override handedOut(frame: Frame): void {
    if (frame.id !== undefined) this.lastDeliveredId = frame.id
    else if (frame.type === 'state_resync_required') this.epoch = (frame as StateResyncRequired).data.epoch
  }
}

export class BusSubscription implements Subscription<Frame> {
  readonly #hub: Hub
  readonly #plan: SubscriptionPlan
  readonly #queue: FrameQueue
  readonly #gauge: Gauge | undefined
  readonly #onAbort: (() => void) | undefined
  #replay: Replay | undefined
  /** The last event that was judged for this subscriber: handed over, queued or filtered. */
  #judged: number
  /** The last event that was handed over or queued, or where the subscription started. */
  #given: number
  #closed = false

  constructor(hub: Hub, plan: SubscriptionPlan, replay?: Replay) {
    this.#hub = hub
    this.#plan = plan
    this.#queue = new FrameQueue(plan)
    this.#gauge = plan.warnings ? new Gauge(plan.maxQueued, plan.maxQueuedBytes) : undefined
    this.#replay = replay
    this.#judged = plan.head
    this.#given = plan.start
    if (replay !== undefined) this.#queue.forcePushAll(replay)
    hub.subscribers.add(this)
    if (plan.signal !== undefined) {
      this.#onAbort = () => this.finish(false)
      plan.signal.addEventListener('abort', this.#onAbort)
    }
  }

  get queued(): number {
    this.#obey()
    return this.#queue.size
  }

  get queuedBytes(): number {
    this.#obey()
    return this.#queue.bytes
  }

  get lastDeliveredId(): number {
    return this.#queue.lastDeliveredId
  }

  get position(): number {
    if (this.#replay?.done === false) return this.#replay.position
    const next = this.#queue.firstQueuedId
    return next === undefined ? this.#judged : next - 1
  }

  get epoch(): string {
    return this.#queue.epoch
  }

  get closed(): boolean {
    return this.#closed
  }

  get stats(): SubscriberStats {
    return {
      queued: this.#queue.size,
      queuedBytes: this.#queue.bytes,
      maxQueued: this.#plan.maxQueued,
      lastDeliveredId: this.#queue.lastDeliveredId,
      replaying: this.#replay?.done === false,
    }
  }

  next(): Promise<IteratorResult<Frame, undefined>> {
    this.#obey()
    return this.#queue.next()
  }

  tryNext(): Frame | undefined {
    this.#obey()
    return this.#queue.tryNext()
  }

  return(value?: unknown): Promise<IteratorResult<Frame, undefined>> {
    this.finish(false)
    return this.#queue.return(value)
  }

  throw(error?: unknown): Promise<IteratorResult<Frame, undefined>> {
    this.finish(false)
    return Promise.reject(error)
  }

  batches(): FrameBatches {
    const batches: FrameBatches = {
      next: () => {
        this.#obey()
        return this.#queue.nextBatch()
      },
      return: (value?: unknown) => this.return(value) as Promise<never>,
      throw: (error?: unknown) => this.throw(error) as Promise<never>,
      [Symbol.asyncIterator]: () => batches,
      [asyncDispose]: () => this[asyncDispose](),
    }
    return batches
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [asyncDispose](): Promise<void> {
    this.finish(false)
  }

  keptOf(frame: Frame): Kept {
    return keptOf(frame)
  }

  report(diagnostic: Diagnostic): void {
    this.#hub.report(diagnostic)
  }

  /** The bus's side: judges one live event for this subscriber. */
  offer(event: BusEvent, bytes: number): void {
    if (this.#closed || event.id <= this.#judged) return
    const { passes } = this.#plan
    const passed = passes === undefined || passes(event)
    // The filter is user code and may have ended the subscription.
    if (this.#closed) return
    if (passed) {
      const queue = this.#queue
      this.#gauge?.drained(queue.size, queue.bytes)
      if (!queue.push(event, bytes)) {
        this.#evict()
        return
      }
      this.#given = event.id
      if (this.#gauge?.risen(queue.size, queue.bytes)) this.#warn()
    }
    this.#judged = event.id
  }

  /** Ends the stream: what is queued may still be read, or is dropped. */
  finish(drain: boolean): void {
    if (!drain) {
      this.#judged = this.position
      if (this.#replay !== undefined) this.#replay.done = true
      this.#replay = undefined
    }
    this.#leave()
    this.#queue.close({ drain })
  }

  #leave(): void {
    if (this.#closed) return
    this.#closed = true
    this.#hub.subscribers.delete(this)
    if (this.#onAbort !== undefined) this.#plan.signal?.removeEventListener('abort', this.#onAbort)
  }

  /** A stream that has left hears no abort and no `close({ drain: false })`, so it looks before it gives more. */
  #obey(): void {
    if (this.#closed && (this.#plan.signal?.aborted || this.#hub.discarded)) this.finish(false)
  }

  #warn(): void {
    this.#tell(controlFrame('slow_client_warning', { ...this.#figures, lastEventId: this.#given }))
  }

  #evict(): void {
    const full = this.#queue.size >= this.#plan.maxQueued
    const reason = full ? 'queue_overflow' : 'queue_bytes_overflow'
    this.#tell(controlFrame('client_evicted', { reason, droppedAfter: this.#given, ...this.#figures }))
    this.finish(true)
  }

  #tell(frame: SlowClientWarning | ClientEvicted): void {
    this.#queue.forcePush(frame)
    this.#hub.announce(frame)
  }

  get #figures(): BacklogFigures {
    const { maxQueued, maxQueuedBytes } = this.#plan
    const { size: queueSize, bytes: queuedBytes } = this.#queue
    return { queueSize, maxQueued, ...(maxQueuedBytes < Infinity && { queuedBytes, maxQueuedBytes }) }
  }
}
