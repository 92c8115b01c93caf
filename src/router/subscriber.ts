/**
 * One subscriber: a subscription whose events a handler gets, in order. What the handler has not come to waits in the
 * subscription's bounded queue; when that is full, the ring is what it overflows into: the subscriber takes no more,
 * works off its queue, and subscribes anew behind it.
 */

import type { BusEvent, BusLike, Frame, StateResyncRequired, Subscription } from '../index.ts'
import { check, checkSignal, option } from '../internal/check.ts'
import { soon } from '../internal/soon.ts'
import { type EventPattern, filterOf, type PatternFilter, wayOf } from './match-events.ts'
import { onAbort } from './on-abort.ts'
import { type HandlerContext, Run, type Runs } from './runs.ts'

/** Events that a subscriber did not get and nobody can give it any more: the ids `from` to `to`, both included. */
export interface Gap {
  readonly from: number
  readonly to: number
}

/** Where an error comes from: the handler's event where there is one, and the pattern as it was given. */
export interface ErrorSource {
  readonly event?: BusEvent
  readonly pattern: string | EventPattern
}

export interface SubscriberOptions {
  /** Starts behind this id, out of what the bus retains. Without it, with what comes from now on. */
  readonly lastEventId?: number | undefined
  /**
   * The epoch that `lastEventId` belongs to: on a bus of another one, all that it retains comes, behind a gap. Without it,
   * a `lastEventId` that is not above the bus's head is taken at its word.
   */
  readonly epoch?: string | undefined
  /** Closes the subscriber. */
  readonly signal?: AbortSignal | undefined
  /** Handlers that may run at the same time, default 1; `Infinity` = any number. They start in the order of the events. */
  readonly concurrency?: number | undefined
  /**
   * Told what a handler threw or rejected with, and, without `onGap`, of a gap (`code: 'gap'`, `from`, `to`). Without it,
   * the bus's `onDiagnostic` is, by a `callback_error`; that is also told of what this callback throws.
   */
  readonly onError?: ((error: unknown, source: ErrorSource) => unknown) | undefined
  /**
   * Events are gone before this subscriber got them; whether they matched, nobody knows. After an epoch reset these are
   * ids of the new epoch, and `to` is below `from` where none of them is gone: what the old one still had is lost anyway.
   */
  readonly onGap?: ((gap: Gap) => unknown) | undefined
}

/** So many events whose handlers do not wait for anything are handled before others have their turn. */
const TURN = 64

export class Subscriber {
  /** Its calls that have not finished, in the order in which they started. */
  readonly running = new Set<Run>()
  readonly #bus: BusLike
  readonly #pattern: string | EventPattern
  readonly #options: SubscriberOptions
  readonly #concurrency: number
  readonly #handler: (event: never, context: HandlerContext) => unknown
  readonly #runs: Runs
  readonly #filter: PatternFilter
  #subscription: Subscription
  /** The first event that did not fit into the queue: from there on, the ring keeps them. */
  #behind = Infinity
  /** A frame that came while nothing was queued; null for the end, which `closed` does not tell: frames may be on their way. */
  #received: Frame | undefined | null
  /** The id of the event whose handler is being called; 0 while none is. The call itself would cost the collector a seventh. */
  #calling = 0
  #asking = false
  #due = false
  #closed = false
  #controller: AbortController | undefined
  /** Leaves nothing at the signal. */
  readonly #forget: (() => void) | undefined

  /** Subscribes, and throws what that throws. Nothing is handled before the caller's code is over. */
  constructor(
    bus: BusLike,
    pattern: string | EventPattern,
    options: SubscriberOptions,
    handler: (event: never, context: HandlerContext) => unknown,
    runs: Runs,
  ) {
    this.#bus = bus
    this.#pattern = pattern
    this.#handler = check('handler', handler, 'function')
    this.#options = options
    this.#concurrency = option(options, 'concurrency', 'number', 1)
    option(options, 'onError', 'function')
    option(options, 'onGap', 'function')
    const { lastEventId, epoch, signal } = options
    checkSignal(signal)
    this.#runs = runs
    this.#filter = filterOf(
      wayOf(typeof pattern === 'string' ? { type: pattern } : check('pattern', pattern, 'string or object')),
    )
    this.#filter.onFull = ({ id }) => {
      this.#behind = id
      // Asked from now on only: of each event, it would cost an eighth of a delivery.
      this.#filter.onFound = (event) => event.id < this.#behind
    }
    // Given only where it is aborted, which takes no slot: as long as this lives, one listener at the signal is enough.
    this.#subscription = this.#subscribe(lastEventId, epoch, signal?.aborted ? signal : undefined)
    runs.owners.add(this)
    this.#forget = onAbort(signal, () => this.end())
    this.#wake()
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#closed) this.#controller.abort()
    return this.#controller.signal
  }

  /** Every event up to here was handled, or is none for this subscriber. */
  get position(): number {
    let next = this.#calling || this.#received?.id || Infinity
    // The oldest may be of an earlier epoch, with an id above those of now.
    for (const run of this.running) next = Math.min(next, run.event.id)
    return Math.min(this.#subscription.position, next - 1, this.#behind - 1)
  }

  close(from?: Run): Promise<void> {
    this.end()
    return this.#runs.idle(this.running, from)
  }

  /** The one end, twice is once: the slot is free, no handler starts any more, and nothing is left at the signal. */
  end(): void {
    this.#closed = true
    this.#runs.leave(this)
    void this.#subscription.return()
    this.#forget?.()
    this.#controller?.abort()
  }

  #subscribe(lastEventId: number | undefined, epoch?: string, signal?: AbortSignal): Subscription {
    return this.#bus.subscribe({ lastEventId, epoch, signal, filter: this.#filter, warnings: false })
  }

  #wake(): void {
    if (!this.#due) soon(this.#run)
    this.#due = true
  }

  readonly #run = () => {
    this.#due = false
    for (let turn = 0; !this.#closed && this.running.size < this.#concurrency; turn++) {
      const frame = turn < TURN ? this.#next() : this.#wake()
      if (!frame) return
      if (frame.id !== undefined) this.#handle(frame)
      else if (frame.type === 'state_resync_required') {
        const { reason, lastDeliveredId = 0, earliestAvailableId } = (frame as StateResyncRequired).data
        this.#tellGap(reason === 'epoch_reset' ? 1 : lastDeliveredId + 1, earliestAvailableId - 1)
      }
    }
  }

  /** The next frame if it is there; else sees to it that there will be one, or that this is the end. */
  #next(): Frame | undefined {
    const received = this.#received
    this.#received = undefined
    if (received || this.#asking) return received as Frame | undefined
    const subscription = this.#subscription
    try {
      const frame = subscription.tryNext()
      if (frame) return frame
      const { evicted, position, epoch } = subscription
      if (this.#behind < Infinity || evicted) {
        // In one step, so that nobody else takes the slot.
        void subscription.return()
        const lastEventId = Math.min(position, this.#behind - 1)
        this.#behind = Infinity
        this.#filter.onFound = true
        this.#subscription = this.#subscribe(lastEventId, epoch)
        // The bus's owner, who was told of a gap in there, may have closed this.
        if (this.#closed) this.end()
        // It retains nothing any more, and such a stream says nothing.
        if (this.#bus.closed) this.#tellGap(lastEventId + 1, this.#bus.lastEventId)
        this.#wake()
      } else if (received === null) this.end()
      else {
        this.#asking = true
        subscription.receive(({ value }) => {
          this.#asking = false
          this.#received = value ?? null
          this.#wake()
        }, this.#fail)
      }
    } catch (error) {
      this.#fail(error)
    }
    return undefined
  }

  /** The bus's backend, or its limit. */
  readonly #fail = (error: unknown) => {
    this.#tellError(error)
    this.end()
  }

  #handle(event: BusEvent): void {
    const run = new Run(this, event)
    this.#calling = event.id
    this.#runs.asked = undefined
    try {
      const result = this.#handler(event as never, run)
      if (typeof (result as PromiseLike<unknown> | undefined)?.then === 'function')
        run.done = this.#finish(run, result)
    } catch (error) {
      this.#tellError(error, event)
    }
    this.#calling = 0
  }

  async #finish(run: Run, result: unknown): Promise<void> {
    this.running.add(run)
    this.#runs.running.add(run)
    run.asked ??= this.#runs.asked
    try {
      await result
    } catch (error) {
      this.#tellError(error, run.event)
    }
    this.running.delete(run)
    this.#runs.running.delete(run)
    this.#run()
  }

  #tellGap(from: number, to: number): void {
    const gap = { from, to }
    const { onGap } = this.#options
    if (onGap) void this.#tell(() => onGap(gap))
    else this.#tellError(Object.assign(new Error('events are gone'), { code: 'gap', ...gap }))
  }

  #tellError(error: unknown, event?: BusEvent): void {
    const { onError } = this.#options
    const source = { ...(event && { event }), pattern: this.#pattern }
    void this.#tell(() => {
      if (!onError) throw error
      return onError(error, source)
    })
  }

  /** What nobody else takes is the bus's owner's to know: also a callback's failure, at once or later. */
  async #tell(callback: () => unknown): Promise<void> {
    try {
      await callback()
    } catch (error) {
      this.#subscription.report({ type: 'callback_error', error })
    }
  }
}
