/** The structural types between a bus and what stands on it. Any bus that has them serves every adapter. */

import type { Kept } from '../internal/kept.ts'
import type { Diagnostic } from './diagnostics.ts'
import type { BusEvent, Frame, PublishInput } from './event.ts'

export interface SubscribeOptions<Event extends BusEvent = BusEvent> {
  /** Resumes behind this id. Without it, and without `from`, the subscription is live only. */
  lastEventId?: number | undefined
  /** The epoch that `lastEventId` belongs to; ignored without one. */
  epoch?: string | undefined
  /** Replays what is retained, or its last n, without a resync frame. Not together with `lastEventId`. */
  from?: 'earliest' | { readonly last: number } | undefined
  /** Ends the subscription at once and drops what it has not read. */
  signal?: AbortSignal | undefined
  /** Live events not read yet, at the most; default the bus's. */
  maxQueued?: number | undefined
  /** Their bytes at the most; default the bus's. Needs a bus with a byte cap. */
  maxQueuedBytes?: number | undefined
  /**
   * Asked once per event: live before it is queued, replayed when the replay gets there. What it refuses costs the
   * subscriber nothing. One that throws is reported as `callback_error` and counts as false.
   */
  filter?: ((event: Event) => boolean) | undefined
  /** `false` suppresses `slow_client_warning`. */
  warnings?: boolean | undefined
}

/** A subscription read in batches; leaving it ends the subscription. */
export interface FrameBatches<F = Frame> extends AsyncIterableIterator<F[], undefined> {
  [Symbol.asyncIterator](): FrameBatches<F>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * One subscriber's stream. Registered from the moment `subscribe` returned it; ended by leaving any iterator of it.
 */
export interface Subscription<F = Frame> extends AsyncIterableIterator<F, undefined> {
  next(): Promise<IteratorResult<F, undefined>>
  /** Ends the subscription, drops what is queued and settles at once. */
  return(value?: unknown): Promise<IteratorResult<F, undefined>>
  /** Ends the subscription like `return`, and rejects with `error`. */
  throw(error?: unknown): Promise<IteratorResult<F, undefined>>
  [Symbol.asyncIterator](): Subscription<F>
  [Symbol.asyncDispose](): Promise<void>
  /** The same stream in non-empty arrays of all that is ready, at most 256 frames each. */
  batches(): FrameBatches<F>
  /** Live events that were not read yet; neither replayed events nor control frames count. */
  readonly queued: number
  readonly queuedBytes: number
  /** The id last handed out; at first the cursor, the head, or with `from` the id before the first replayed one. */
  readonly lastDeliveredId: number
  /** The greatest n such that every event up to n was handed out, filtered, or announced as gone. */
  readonly position: number
  /** The epoch of the frame last handed out; at first that of the cursor, or the bus's. */
  readonly epoch: string
  /** Nothing more will be pushed; what is queued may still be read. */
  readonly closed: boolean
  /** It is closed because its backlog was full: the last frame says so. */
  readonly evicted: boolean
  /** For adapters: the next frame without waiting, or undefined. What an adapter leaves stays counted. */
  tryNext(): F | undefined
  /**
   * For adapters: `next()` without a promise. Calls back within the publish that brings the frame, so what it runs must be
   * short and must not throw.
   */
  receive(resolve: (result: IteratorResult<F, undefined>) => void, reject: (error: unknown) => void): void
  /** For adapters: the JSON kept with a frame of this subscription, whichever bundle the bus came from. */
  keptOf(frame: F): Kept
  /** For adapters: calls back as the bus closes, also when this subscription ended before; returns the way to stop that. */
  onBusClose(callback: () => void): () => void
  /** For adapters: hands a diagnostic to the bus's `onDiagnostic`. */
  report(diagnostic: Diagnostic): void
}

export interface CloseOptions {
  /** Default true: what is queued may still be read. `false` drops it. */
  drain?: boolean | undefined
}

/** What adapters need of a bus. `EventBus<X>` is assignable for any X, and so is a bus on another backend. */
export interface BusLike {
  readonly epoch: string
  readonly lastEventId: number
  readonly earliestAvailableId: number
  readonly ended: boolean
  readonly closed: boolean
  subscribe(options?: SubscribeOptions): Subscription<Frame>
  publish(input: PublishInput): BusEvent | undefined | Promise<BusEvent | undefined>
  end(): void | Promise<void>
  close(options?: CloseOptions): void | Promise<void>
}

/** The events of a bus. */
export type EventIn<Bus extends BusLike> =
  ReturnType<Bus['subscribe']> extends Subscription<infer F> ? Extract<F, BusEvent> : BusEvent
