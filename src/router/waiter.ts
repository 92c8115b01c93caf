/** One wait for a reply, and its one outcome. */

import type { BusEvent, BusLike } from '../index.ts'
import { checkSignal, option } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { after } from '../internal/timer.ts'
import { AwaitTimeoutError, abortError, stoppedError } from './errors.ts'
import { onAbort } from './on-abort.ts'

export interface Reply<Event extends BusEvent = BusEvent> {
  readonly event: Event
  /** The event's type is `accept` or `accepted`, or ends in `.accept` or `.accepted`. */
  readonly accepted: boolean
  /** Of a reply that is not accepted: its `data` if that is an Error, else `data.error` if that is one. */
  readonly error: Error | undefined
}

export interface WaiterOptions {
  readonly type: string
  /** The reply's path, exactly; left out, any path or none. */
  readonly path?: string | undefined
  /** From `prepare` on, default 30,000; 0 or `Infinity` = no limit. */
  readonly timeoutMs?: number | undefined
  /** Asked of each event that matches; what it throws is the outcome of this wait alone. */
  readonly where?: ((event: never) => boolean) | undefined
  readonly signal?: AbortSignal | undefined
}

const ACCEPTED = /(^|\.)accept(ed)?$/

export class Waiter {
  readonly path: string | undefined
  readonly #where: ((event: never) => boolean) | undefined
  readonly #bus: BusLike
  readonly #epoch: string
  readonly #head: number
  /** Whoever asks for it knows the event's type. */
  readonly #reply: Promise<Reply<never>>
  #resolve!: (reply: Reply<never>) => void
  #reject!: (error: unknown) => void
  /** What it holds on to, as long as it waits. */
  #release: (() => void)[] | undefined = []

  /** Waits from now on, for what comes behind the bus's head. Throws what is wrong with its options. */
  constructor(bus: BusLike, options: WaiterOptions) {
    const { type, signal } = options
    this.path = option(options, 'path', 'string')
    this.#where = option(options, 'where', 'function')
    const timeoutMs = option(options, 'timeoutMs', 'number', 30_000, 0)
    checkSignal(signal)
    this.#bus = bus
    this.#epoch = bus.epoch
    this.#head = bus.lastEventId
    this.#reply = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Nobody need be there when it fails: whoever calls `wait()` is told then.
    this.#reply.catch(() => {})
    this.holds(onAbort(signal, () => this.fail(abortError(signal as AbortSignal))))
    // 0 is off, as everywhere.
    const overdue = () => this.fail(new AwaitTimeoutError(type, timeoutMs))
    this.holds(after(timeoutMs || Infinity, overdue, 'awaited'))
  }

  wait(): Promise<Reply<never>> {
    return this.#reply
  }

  close(): void {
    this.fail(stoppedError('the waiter'))
  }

  [dispose](): void {
    this.close()
  }

  /** Called as soon as it waits no more; at once where that is so already. */
  holds(release: () => void): void {
    if (this.#release) this.#release.push(release)
    else release()
  }

  /** A live event of its patterns: an older one, still on its way when it began to wait, is none of its own. */
  offer(event: BusEvent): void {
    if (event.id > this.#head || this.#bus.epoch !== this.#epoch) this.take(event)
  }

  /** An event of its patterns. */
  take(event: BusEvent): void {
    if (this.path !== undefined && this.path !== event.path) return
    const where = this.#where
    try {
      if (where && !where(event as never)) return
      const accepted = ACCEPTED.test(event.type)
      const error = accepted ? undefined : errorOf(event.data as object)
      this.#settle(this.#resolve, { event: event as never, accepted, error })
    } catch (error) {
      this.fail(error)
    }
  }

  fail(error: unknown): void {
    this.#settle(this.#reject, error)
  }

  /** The one end. */
  #settle<Outcome>(settle: (outcome: Outcome) => void, outcome: Outcome): void {
    const releases = this.#release
    if (!releases) return
    this.#release = undefined
    for (const release of releases) release()
    settle(outcome)
  }
}

function errorOf(data: { readonly error?: unknown } | null | undefined): Error | undefined {
  return [data, data?.error].find((one) => one instanceof Error)
}
