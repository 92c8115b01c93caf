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
import { type BacklogFigures, type BusEvent, type ControlFrame, controlFrame, type Frame } from './event.ts'
import { Gauge } from './gauge.ts'
import type { Hub } from './hub.ts'
import { BoundedAsyncQueue } from './queue.ts'
import type { Replay } from './replay.ts'

/** A subscription as the bus asks for it: everything checked, every default filled in. */
export interface SubscriptionPlan {
  /** The cursor, the head, or with `from` the id before the first replayed one. */
  readonly start: number
  /** The epoch of `start`. */
  readonly epoch: string
  /** The last id published so far: what is above it is live. */
  readonly head: number
  readonly replay: Replay | undefined
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

  protected override handedOut(frame: Frame): void {
    if (frame.id !== undefined) this.lastDeliveredId = frame.id
    else this.#heed(frame as ControlFrame)
  }

  get firstQueuedId(): number | undefined {
    return this.firstLive()?.id
  }

  #heed(frame: ControlFrame): void {
    if (frame.type === 'state_resync_required') this.epoch = frame.data.epoch
  }
}

export class BusSubscription implements Subscription<Frame> {
  readonly #hub: Hub
  readonly #queue: FrameQueue
  readonly #gauge: Gauge | undefined
  readonly #passes: SubscriptionPlan['passes']
  readonly #maxQueued: number
  readonly #maxQueuedBytes: number
  readonly #signal: AbortSignal | undefined
  readonly #onAbort: (() => void) | undefined
  #replay: Replay | undefined
  /** The last event that was judged for this subscriber: handed over, queued or filtered. */
  #judged: number
  /** The last event that was handed over or queued, or where the subscription started. */
  #given: number
  #closed = false

  constructor(hub: Hub, plan: SubscriptionPlan) {
    this.#hub = hub
    this.#queue = new FrameQueue(plan)
    this.#gauge = plan.warnings ? new Gauge(plan.maxQueued, plan.maxQueuedBytes) : undefined
    this.#passes = plan.passes
    this.#maxQueued = plan.maxQueued
    this.#maxQueuedBytes = plan.maxQueuedBytes
    this.#judged = plan.head
    this.#given = plan.start
    this.#replay = plan.replay
    if (plan.replay !== undefined) this.#queue.forcePushAll(plan.replay)
    this.#signal = plan.signal
    this.#onAbort = plan.signal && (() => this.finish(false))
    hub.subscribers.add(this)
    if (this.#onAbort !== undefined) plan.signal?.addEventListener('abort', this.#onAbort)
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
    if (this.#replaying) return (this.#replay as Replay).position
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
      maxQueued: this.#maxQueued,
      lastDeliveredId: this.#queue.lastDeliveredId,
      replaying: this.#replaying,
    }
  }

  get #replaying(): boolean {
    return this.#replay !== undefined && !this.#replay.done
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
    if (this.#passes !== undefined && !this.#passes(event)) {
      if (!this.#closed) this.#judged = event.id
      return
    }
    // The filter is user code and may have ended the subscription.
    if (this.#closed) return
    const queue = this.#queue
    this.#gauge?.drained(queue.size, queue.bytes)
    if (!queue.push(event, bytes)) {
      this.#evict()
      return
    }
    this.#judged = this.#given = event.id
    if (this.#gauge?.risen(queue.size, queue.bytes)) this.#warn()
  }

  /** Ends the stream: what is queued may still be read, or is dropped. */
  finish(drain: boolean): void {
    if (!drain) {
      this.#judged = this.position
      this.#replay = undefined
    }
    this.#leave()
    this.#queue.close({ drain })
  }

  #leave(): void {
    if (this.#closed) return
    this.#closed = true
    this.#hub.subscribers.delete(this)
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener('abort', this.#onAbort)
  }

  /** A stream that has left hears no abort and no `close({ drain: false })`, so it looks before it gives more. */
  #obey(): void {
    if (this.#closed && (this.#signal?.aborted || this.#hub.discarded)) this.finish(false)
  }

  #warn(): void {
    const frame = controlFrame('slow_client_warning', { ...this.#figures(), lastEventId: this.#given })
    this.#queue.forcePush(frame)
    this.#hub.warned++
    this.#hub.report({ type: 'slow_client_warning', data: frame.data })
  }

  #evict(): void {
    const full = this.#queue.size >= this.#maxQueued
    const frame = controlFrame('client_evicted', {
      reason: full ? 'queue_overflow' : 'queue_bytes_overflow',
      droppedAfter: this.#given,
      ...this.#figures(),
    })
    this.#queue.forcePush(frame)
    this.#hub.evicted++
    this.finish(true)
    this.#hub.report({ type: 'client_evicted', data: frame.data })
  }

  #figures(): BacklogFigures {
    const { size, bytes } = this.#queue
    const figures = { queueSize: size, maxQueued: this.#maxQueued }
    if (this.#maxQueuedBytes === Infinity) return figures
    return { ...figures, queuedBytes: bytes, maxQueuedBytes: this.#maxQueuedBytes }
  }
}
