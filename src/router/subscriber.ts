/**
 * One subscriber: a subscription whose events a handler gets, in order. What the handler has not come to waits in the
 * subscription's bounded queue; when that is full, the ring is what it overflows into: the subscriber takes no more,
 * works off its queue, and subscribes anew behind it.
 */

import type { BusEvent, BusLike, Frame, StateResyncRequired, Subscription } from '../index.ts'
import { soon } from '../internal/soon.ts'
import { type EventPattern, filterOf } from './match-events.ts'
import { type HandlerContext, Run, type Runs } from './runs.ts'

/** Events whose ids are not known to this subscriber any more: `from` to `to`, both included. */
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
  readonly patterns: EventPattern
  /** The patterns as they were given. */
  readonly pattern: string | EventPattern
  readonly lastEventId: number | undefined
  readonly signal: AbortSignal | undefined
  readonly concurrency: number
  readonly onError: ((error: unknown, source: ErrorSource) => unknown) | undefined
  readonly onGap: ((gap: Gap) => unknown) | undefined
  readonly handler: (event: never, context: HandlerContext) => unknown
}

/** So many events whose handlers do not wait for anything are handled before others have their turn. */
const TURN = 64

export class Subscriber {
  readonly #bus: BusLike
  readonly #options: SubscriberOptions
  readonly #runs: Runs
  readonly #filter: ReturnType<typeof filterOf>
  #subscription: Subscription
  /** The first event that did not fit into the queue: from there on, the ring keeps them. */
  #behind = Infinity
  /** A frame that came while nothing was queued. */
  #received: Frame | undefined
  #asking = false
  #due = false
  #running = 0
  #closed = false
  #controller: AbortController | undefined

  /** Subscribes, and throws what that throws. Nothing is handled before the caller's code is over. */
  constructor(bus: BusLike, options: SubscriberOptions, runs: Runs) {
    this.#bus = bus
    this.#options = options
    this.#runs = runs
    this.#filter = filterOf(options.patterns, {
      accepts: ({ id }) => id < this.#behind,
      full: ({ id }) => {
        this.#behind = id
      },
    })
    this.#subscription = this.#subscribe(options.lastEventId)
    options.signal?.addEventListener('abort', this)
    if (options.signal?.aborted) this.end()
    this.#wake()
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#closed) this.#controller.abort()
    return this.#controller.signal
  }

  /** Every event up to here was handled, or is none for this subscriber. */
  get position(): number {
    const next = this.#runs.oldest(this)?.event.id ?? this.#received?.id ?? Infinity
    return Math.min(this.#subscription.position, Math.min(next, this.#behind) - 1)
  }

  close(from?: Run): Promise<void> {
    this.end()
    return this.#runs.idle(this, from)
  }

  /** The signal's side: it is aborted. */
  handleEvent(): void {
    this.end()
  }

  #subscribe(lastEventId: number | undefined, epoch?: string): Subscription {
    const { signal } = this.#options
    // Given only where it is aborted, which takes no slot: as long as this lives, one listener at the signal is enough.
    const aborted = signal?.aborted ? signal : undefined
    return this.#bus.subscribe({ lastEventId, epoch, filter: this.#filter, signal: aborted, warnings: false })
  }

  #wake(): void {
    if (this.#due) return
    this.#due = true
    soon(this.#run)
  }

  readonly #run = () => {
    this.#due = false
    for (let turn = 0; !this.#closed && this.#running < this.#options.concurrency; turn++) {
      if (turn === TURN) {
        this.#wake()
        return
      }
      const frame = this.#next()
      if (frame === undefined) return
      if (frame.id !== undefined) this.#handle(frame)
      else if (frame.type === 'state_resync_required') this.#tellGap((frame as StateResyncRequired).data)
    }
  }

  /** The next frame if it is there; else sees to it that there will be one, or that this is the end. */
  #next(): Frame | undefined {
    const received = this.#received
    this.#received = undefined
    if (received !== undefined || this.#asking) return received
    try {
      const subscription = this.#subscription
      const frame = subscription.tryNext()
      if (frame !== undefined) return frame
      if (this.#behind < Infinity) this.#goOn(this.#behind - 1)
      else if (subscription.evicted) this.#goOn(subscription.position)
      else if (subscription.closed) this.end()
      else {
        this.#asking = true
        subscription.receive(this.#receive, this.#fail)
      }
    } catch (error) {
      this.#fail(error)
    }
    return undefined
  }

  /** In one step, so that nobody else takes the slot. */
  #goOn(lastEventId: number): void {
    const { epoch } = this.#subscription
    void this.#subscription.return()
    this.#behind = Infinity
    this.#subscription = this.#subscribe(lastEventId, epoch)
    this.#wake()
  }

  readonly #receive = ({ value }: IteratorResult<Frame, undefined>): void => {
    this.#asking = false
    this.#received = value
    this.#wake()
  }

  /** The bus's backend, or its limit. */
  readonly #fail = (error: unknown): void => {
    this.#tellError(error)
    this.end()
  }

  #handle(event: BusEvent): void {
    const run = new Run(this, event)
    this.#runs.called = run
    try {
      const result = this.#options.handler(event as never, run)
      if (typeof (result as PromiseLike<unknown> | undefined)?.then === 'function') {
        this.#running++
        this.#runs.add(run)
        void this.#finish(run, result)
      }
    } catch (error) {
      this.#tellError(error, event)
    } finally {
      this.#runs.called = undefined
    }
  }

  async #finish(run: Run, result: unknown): Promise<void> {
    try {
      await result
    } catch (error) {
      this.#tellError(error, run.event)
    }
    this.#running--
    this.#runs.delete(run)
    this.#run()
  }

  #tellGap({ reason, lastDeliveredId = 0, earliestAvailableId }: StateResyncRequired['data']): void {
    const { onGap } = this.#options
    const from = reason === 'epoch_reset' ? 1 : lastDeliveredId + 1
    const gap = { from, to: earliestAvailableId - 1 }
    if (onGap) void this.#tell(() => onGap(gap))
    else {
      const error = new Error(`events ${gap.from} to ${gap.to} are gone`)
      this.#tellError(Object.assign(error, { code: 'gap', ...gap }))
    }
  }

  #tellError(error: unknown, event?: BusEvent): void {
    const { onError, pattern } = this.#options
    if (onError) void this.#tell(() => onError(error, { ...(event && { event }), pattern }))
    else this.#subscription.report({ type: 'callback_error', error })
  }

  /** A callback that fails, at once or later, is the bus's owner's to know. */
  async #tell(callback: () => unknown): Promise<void> {
    try {
      await callback()
    } catch (error) {
      this.#subscription.report({ type: 'callback_error', error })
    }
  }

  /** The one end: the slot is free, no handler starts any more, and nothing is left at the signal. */
  end(): void {
    if (this.#closed) return
    this.#closed = true
    // Handed out by the subscription, but to no handler.
    this.#behind = Math.min(this.#behind, this.#received?.id ?? Infinity)
    this.#received = undefined
    void this.#subscription.return()
    this.#options.signal?.removeEventListener('abort', this)
    this.#controller?.abort()
  }
}
