/**
 * One subscriber: its backlog, the rules that bound it, and the one place where it ends.
 *
 * A stream is the replay (if any), then the live events above the head at the moment of `subscribe`. Only live events that
 * were not read count against the caps. However a subscription ends, `#leave` frees its slot and its abort listener.
 */

import { asyncDispose } from '../internal/dispose.ts'
import { type Kept, keptOf } from '../internal/kept.ts'
import type { CloseOptions, FrameBatches, Subscription } from './bus-like.ts'
import type { Diagnostic, SubscriberStats } from './diagnostics.ts'
import {
  type BacklogFigures,
  type BusEvent,
  controlFrame,
  type Frame,
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

export class BusSubscription extends BoundedAsyncQueue<Frame> implements Subscription<Frame> {
  lastDeliveredId: number
  epoch: string
  evicted = false
  readonly #hub: Hub
  readonly #plan: SubscriptionPlan
  readonly #gauge: Gauge | undefined
  readonly #onAbort = () => this.close({ drain: false })
  #replay: Replay | undefined
  /** The last event that was judged for this subscriber: handed over, queued or filtered. */
  #judged: number
  /** The last event that was handed over or queued, or where the subscription started. */
  #given: number

  constructor(hub: Hub, plan: SubscriptionPlan, replay?: Replay) {
    super({ maxSize: plan.maxQueued, maxBytes: plan.maxQueuedBytes })
    this.#hub = hub
    this.#plan = plan
    this.#gauge = plan.warnings ? new Gauge(plan.maxQueued, plan.maxQueuedBytes) : undefined
    this.#replay = replay
    this.#judged = plan.head
    this.#given = this.lastDeliveredId = plan.start
    this.epoch = plan.epoch
    if (replay !== undefined) this.forcePushAll(replay.frames)
    plan.signal?.addEventListener('abort', this.#onAbort)
    hub.subscribers.add(this)
  }

  get queued(): number {
    return this.size
  }

  get queuedBytes(): number {
    return this.bytes
  }

  get position(): number {
    if (this.#replay?.done === false) return this.#replay.position
    const next = this.firstLive()
    return next?.id === undefined ? this.#judged : next.id - 1
  }

  get stats(): SubscriberStats {
    return {
      queued: this.size,
      queuedBytes: this.bytes,
      maxQueued: this.#plan.maxQueued,
      lastDeliveredId: this.lastDeliveredId,
      replaying: this.#replay?.done === false,
    }
  }

  throw(error?: unknown): Promise<IteratorResult<Frame, undefined>> {
    this.close({ drain: false })
    return Promise.reject(error)
  }

  batches(): FrameBatches {
    const batches: FrameBatches = {
      next: () => this.nextBatch(),
      return: (value?: unknown) => this.return(value) as Promise<never>,
      throw: (error?: unknown) => this.throw(error) as Promise<never>,
      [Symbol.asyncIterator]: () => batches,
      [asyncDispose]: () => this[asyncDispose](),
    }
    return batches
  }

  keptOf(frame: Frame): Kept {
    return keptOf(frame)
  }

  onBusClose(callback: () => void): () => void {
    this.#hub.closeListeners.add(callback)
    return () => this.#hub.closeListeners.delete(callback)
  }

  report(diagnostic: Diagnostic): void {
    this.#hub.report(diagnostic)
  }

  /** The bus's side: judges one live event for this subscriber. */
  offer(event: BusEvent, bytes: number): void {
    if (this.closed || event.id <= this.#judged) return
    const { passes } = this.#plan
    const passed = passes === undefined || passes(event)
    // The filter is user code and may have ended the subscription.
    if (this.closed) return
    if (passed) {
      this.#gauge?.drained(this.size, this.bytes)
      if (!this.push(event, bytes)) {
        this.#evict()
        return
      }
      this.#given = event.id
      if (this.#gauge?.risen(this.size, this.bytes)) this.#warn()
    }
    this.#judged = event.id
  }

  /** The one end of every stream, whoever ends it: what is queued may still be read, or is dropped. */
  override close(options: CloseOptions): void {
    if (options.drain === false) {
      this.#judged = this.position
      if (this.#replay !== undefined) this.#replay.done = true
      this.#replay = undefined
    }
    this.#hub.subscribers.delete(this)
    this.#plan.signal?.removeEventListener('abort', this.#onAbort)
    super.close(options)
  }

  protected override handedOut(frame: Frame): void {
    if (frame.id !== undefined) this.lastDeliveredId = frame.id
    else if (frame.type === 'state_resync_required') this.epoch = (frame as StateResyncRequired).data.epoch
  }

  /** A stream that has left hears no abort and no `close({ drain: false })`, so it looks before it gives more. */
  protected override abandoned(): boolean {
    return this.#plan.signal?.aborted || this.#hub.discarded
  }

  #warn(): void {
    const frame = controlFrame('slow_client_warning', { ...this.#figures, lastEventId: this.#given })
    this.forcePush(frame)
    this.#hub.announce('warned', frame)
  }

  #evict(): void {
    const full = this.size >= this.#plan.maxQueued
    const reason = full ? 'queue_overflow' : 'queue_bytes_overflow'
    const frame = controlFrame('client_evicted', { reason, droppedAfter: this.#given, ...this.#figures })
    this.forcePush(frame)
    this.evicted = true
    this.close({})
    this.#hub.announce('evicted', frame)
  }

  get #figures(): BacklogFigures {
    const { maxQueued, maxQueuedBytes } = this.#plan
    const queued = { queueSize: this.size, maxQueued }
    return maxQueuedBytes < Infinity ? { ...queued, queuedBytes: this.bytes, maxQueuedBytes } : queued
  }
}
