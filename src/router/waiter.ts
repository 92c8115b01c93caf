/** One wait for a reply, and its one outcome. */

import type { BusEvent, BusLike } from '../index.ts'
import { dispose } from '../internal/dispose.ts'
import { after } from '../internal/timer.ts'
import { AwaitTimeoutError, abortError, stoppedError } from './errors.ts'

export interface Reply {
  readonly event: BusEvent
  /** The event's type is `accept` or `accepted`, or ends in `.accept` or `.accepted`. */
  readonly accepted: boolean
  /** Of a reply that is not accepted: its `data` if that is an Error, else `data.error` if that is one. */
  readonly error: Error | undefined
}

export interface WaiterOptions {
  readonly path: string | undefined
  readonly timeoutMs: number
  readonly where: ((event: BusEvent) => boolean) | undefined
  readonly signal: AbortSignal | undefined
}

const ACCEPTED = /(^|\.)accept(ed)?$/

export class Waiter {
  readonly #options: WaiterOptions
  readonly #bus: BusLike
  readonly #epoch: string
  readonly #head: number
  readonly #reply: Promise<Reply>
  #resolve!: (reply: Reply | Promise<never>) => void
  /** What it holds on to, as long as it waits. */
  #release: (() => void)[] | undefined = []

  /** Waits from now on, for what comes behind the bus's head. */
  constructor(bus: BusLike, options: WaiterOptions) {
    this.#bus = bus
    this.#epoch = bus.epoch
    this.#head = bus.lastEventId
    this.#options = options
    const { timeoutMs, signal } = options
    this.#reply = new Promise((resolve) => {
      this.#resolve = resolve
    })
    // Nobody need be there when it fails: whoever calls `wait()` is told then.
    this.#reply.catch(() => {})
    signal?.addEventListener('abort', this)
    this.holds(() => signal?.removeEventListener('abort', this))
    // 0 is off, as everywhere.
    this.holds(after(timeoutMs || Infinity, () => this.fail(new AwaitTimeoutError(timeoutMs)), 'awaited'))
    if (signal?.aborted) this.handleEvent()
  }

  get path(): string | undefined {
    return this.#options.path
  }

  /**
   * The reply. Rejects with `AwaitTimeoutError` (`code: 'await_timeout'`), an `AbortError` (`code: 'aborted'`), `code:
   * 'stopped'` when the waiter, its service or its bus is over, or what `where` threw; never as an unhandled rejection.
   */
  wait(): Promise<Reply> {
    return this.#reply
  }

  /** Waits no more, and leaves nothing behind; a `wait()` that had no outcome rejects. */
  close(): void {
    this.fail(stoppedError('the waiter'))
  }

  [dispose](): void {
    this.close()
  }

  /** The signal's side: it is aborted. */
  handleEvent(): void {
    this.fail(abortError(this.#options.signal as AbortSignal))
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
    const { path, where } = this.#options
    if (path !== undefined && path !== event.path) return
    try {
      if (where && !where(event)) return
      const accepted = ACCEPTED.test(event.type)
      const reply = { event, accepted, error: accepted ? undefined : errorOf(event.data) }
      this.#settle(() => reply)
    } catch (error) {
      this.fail(error)
    }
  }

  fail(error: unknown): void {
    this.#settle(() => Promise.reject(error))
  }

  /** The one end. */
  #settle(outcome: () => Reply | Promise<never>): void {
    const releases = this.#release
    if (!releases) return
    this.#release = undefined
    for (const release of releases) release()
    this.#resolve(outcome())
  }
}

function errorOf(data: unknown): Error | undefined {
  if (data instanceof Error) return data
  const error = (data as { error?: unknown } | null | undefined)?.error
  return error instanceof Error ? error : undefined
}
