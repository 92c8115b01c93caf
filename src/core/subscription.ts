/**
 * One subscriber: its backlog, the rules that bound it, and the one place where it ends.
 *
 * A stream is the replay (if any), then the live events above the head at the moment of `subscribe`. Only live events that
 * were not read count against the caps. However a subscription ends, `close` frees its slot and its abort listener.
 */

import { asyncDispose } from '../internal/dispose.ts'
import { type Kept, keptOf } from '../internal/kept.ts'
import type { CloseOptions, FrameBatches, Subscription } from './bus-like.ts'
import type { Diagnostic, SubscriberStats } from './diagnostics.ts'
import {
  type BusEvent,
  type ControlFrame,
  controlFrame,
  type Frame,
  type StateResyncRequired,
} from './event.ts'
import type { Filter } from './filter-index.ts'
import type { Hub } from './hub.ts'
import type { CheckedSubscribeOptions } from './options.ts'
import { BoundedAsyncQueue } from './queue.ts'

/** What a resumed stream reads before its live events. */
export interface ReplayRun extends IterableIterator<Frame, undefined> {
  /** Everything up to here was read, filtered, or announced as gone. */
  readonly position: number
  /** `replay_complete` was read, or nothing more is to be. */
  done: boolean
}

export class BusSubscription extends BoundedAsyncQueue<Frame> implements Subscription<Frame> {
  lastDeliveredId: number
  epoch: string
  evicted = false
  readonly #hub: Hub
  readonly #options: CheckedSubscribeOptions
  /** The next warning may come: there was none since the backlog was last down. */
  #armed = true
  /** What is read before the live events. */
  #replay: ReplayRun | undefined
  /** The last event that was judged for this subscriber: handed over, queued or filtered. */
  #judged: number
  /** The last live event that was handed over or queued. */
  #given = 0
  /** Below this backlog an event is queued and nothing else is to be done. */
  readonly #calm: number

  /** Live from the event behind `head`. */
  constructor(hub: Hub, options: CheckedSubscribeOptions, head: number) {
    super(options)
    this.#hub = hub
    this.#options = options
    this.#calm = options.maxSize * 0.75 - 1
    this.#judged = this.lastDeliveredId = head
    this.epoch = options.epoch
    options.signal?.addEventListener('abort', this)
    hub.place('add', this, options.filter)
  }

  /** Puts what is behind `cursor` before the live events. */
  resume(cursor: number, replay: ReplayRun): void {
    this.start(cursor, this.#judged)
    this.#replay = replay
    this.forcePushAll(replay)
  }

  /** Stands at `cursor`, and is live from the event behind `head`: never, where a bus learns later where that is. */
  start(cursor: number, head: number): void {
    this.lastDeliveredId = this.#given = cursor
    this.#judged = head
  }

  get queued(): number {
    return this.size
  }

  get queuedBytes(): number {
    return this.bytes
  }

  get position(): number {
    if (this.#replay?.done === false) return this.#replay.position
    return (this.firstLive()?.id ?? this.#reached + 1) - 1
  }

  get stats(): SubscriberStats {
    return {
      queued: this.size,
      queuedBytes: this.bytes,
      maxQueued: this.maxSize,
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

  /** The signal's side: it is aborted. */
  handleEvent(): void {
    this.close({ drain: false })
  }

  /** The bus's side: judges one live event for this subscriber. */
  offer(event: BusEvent, bytes: number): void {
    // It may have ended since it was listed.
    if (event.id <= this.#judged || this.closed) return
    const { filter } = this.#options
    if (filter && filter.onFound !== true) {
      const passed = this.passes(event, filter.onFound)
      // It is user code, and may have ended the subscription.
      if (this.closed) return
      if (!passed) {
        this.#judged = event.id
        return
      }
    }
    // Far from every line: the usual case, and short enough to be part of a fan-out. Worth a sixth of a delivery.
    if (this.#armed && bytes === 0 && this.size < this.#calm) {
      this.append(event, 0)
      this.#judged = this.#given = event.id
    } else this.#press(event, bytes)
  }

  /** The one end of every stream, whoever ends it: what is queued may still be read, or is dropped. */
  override close(options: CloseOptions): void {
    this.#judged = options.drain === false ? this.position : this.#reached
    if (options.drain === false) {
      if (this.#replay) this.#replay.done = true
      this.#replay = undefined
    }
    this.#hub.place('delete', this, this.#options.filter)
    this.#options.signal?.removeEventListener('abort', this)
    super.close(options)
  }

  /** A user's filter: one that throws is reported and counts as false. */
  passes(event: BusEvent, filter = this.#options.filter): boolean {
    try {
      // Nobody asks where there is none: that look is cheaper than this call.
      return (filter as NonNullable<typeof filter>)(event)
    } catch (error) {
      this.report({ type: 'callback_error', error })
      return false
    }
  }

  /** Gives an event to a stream that may have no place for it. */
  #press(event: BusEvent, bytes: number): void {
    const { filter, warnings } = this.#options
    // The next warning may come from 37.5 % of both caps on, so that a reader that wavers around one line is warned once.
    this.#armed ||= this.#level <= 0.375
    if (this.push(event, bytes)) {
      this.#given = event.id
      if (this.#armed && this.#level >= 0.75) {
        this.#armed = false
        if (warnings) this.#tell('warned', 'slow_client_warning', { lastEventId: event.id })
      }
    } else if (filter?.onFull) this.passes(event, filter.onFull as Filter)
    else {
      const reason = this.size < this.maxSize ? 'queue_bytes_overflow' : 'queue_overflow'
      this.#tell('evicted', 'client_evicted', { reason, droppedAfter: this.#given })
      this.evicted = true
      this.close({})
      return
    }
    this.#judged = event.id
  }

  protected override handedOut(frame: Frame): void {
    if (frame.id !== undefined) this.lastDeliveredId = frame.id
    else if (frame.type === 'state_resync_required') this.epoch = (frame as StateResyncRequired).data.epoch
  }

  /** A stream that has left hears no abort and no `close({ drain: false })`, so it looks before it gives more. */
  protected override abandoned(): boolean {
    return this.#options.signal?.aborted || this.#hub.discarded
  }

  /** The last event that was judged, or that an index kept away, as good as filtered. */
  get #reached(): number {
    return this.closed ? this.#judged : Math.max(this.#judged, this.#hub.fannedOut)
  }

  /** The backlog as a share of the cap that is nearer. */
  get #level(): number {
    return Math.max(this.size / this.maxSize, this.bytes / this.maxBytes)
  }

  /** Tells the subscriber in its place, and the bus's owner. */
  #tell(count: 'evicted' | 'warned', type: ControlFrame['type'], data: object): void {
    const frame = controlFrame(type, {
      ...data,
      queueSize: this.size,
      maxQueued: this.maxSize,
      ...(this.maxBytes < Infinity && { queuedBytes: this.bytes, maxQueuedBytes: this.maxBytes }),
    } as never)
    this.forcePush(frame)
    this.#hub.announce(count, frame)
  }
}
