/** Request and reply: waits that begin before the request is published. */

import type { BusEvent, BusLike, Frame, SubscribeOptions, Subscription } from '../index.ts'
import { check, checkBus, checkSignal, option } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { stoppedError } from './errors.ts'
import { type EventPattern, filterOf, matchEvents } from './match-events.ts'
import { type Reply, Waiter } from './waiter.ts'

export interface AwaitOptions {
  /** A pattern; left out, any system or none. */
  readonly system?: string | undefined
  /** A pattern. */
  readonly type: string
  /** The reply's path, exactly; left out, any path or none. */
  readonly path?: string | undefined
  /** From `prepare` on, default 30,000; 0 or `Infinity` = no limit. */
  readonly timeoutMs?: number | undefined
  /** Also what the bus retains behind this id. Without it, only what comes behind the bus's head of now. */
  readonly since?: number | undefined
  /** Asked of each event that matches; what it throws is the outcome of this wait alone. */
  readonly where?: ((event: BusEvent) => boolean) | undefined
  readonly signal?: AbortSignal | undefined
}

/** A wait under way. */
export type ReplyWaiter = Pick<Waiter, 'wait' | 'close' | typeof Symbol.dispose>

/** The waiters of one pair of patterns, which share a subscription, by their paths. */
class Share {
  readonly #waiters = new Map<string | undefined, Set<Waiter>>()
  readonly #subscription: Subscription
  readonly #empty: () => void
  #over: { readonly error: unknown } | undefined

  /** Routes inside the filter and takes nothing: it cannot fall behind. `empty` is called when its last waiter left. */
  constructor(bus: BusLike, patterns: EventPattern, empty: () => void) {
    this.#empty = empty
    const filter = filterOf(patterns, { accepts: (event) => this.#route(event) })
    this.#subscription = bus.subscribe({ filter, warnings: false })
    this.#watch()
  }

  add(waiter: Waiter): void {
    const { path } = waiter
    const waiters = this.#waiters.get(path) ?? new Set()
    this.#waiters.set(path, waiters.add(waiter))
    waiter.holds(() => {
      waiters.delete(waiter)
      if (waiters.size > 0) return
      this.#waiters.delete(path)
      if (this.#waiters.size > 0) return
      this.#empty()
      void this.#subscription.return()
    })
    if (this.#over) waiter.over(this.#over.error)
  }

  #route(event: BusEvent): false {
    this.#offer(event, event.path)
    if (event.path !== undefined) this.#offer(event, undefined)
    return false
  }

  #offer(event: BusEvent, path: string | undefined): void {
    const waiters = this.#waiters.get(path)
    if (waiters) for (const waiter of waiters) waiter.offer(event)
  }

  /** Hears of the end: control frames are all that comes through. */
  #watch(): void {
    const end = (error: unknown) => {
      this.#over = { error }
      for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.over(error)
    }
    this.#subscription.receive(({ done }) => {
      if (done) end(stoppedError('the bus'))
      else this.#watch()
    }, end)
  }
}

export class AwaitService {
  readonly #bus: BusLike
  readonly #shares = new Map<string, Share>()
  readonly #waiters = new Set<Waiter>()
  #stopped = false

  /** Subscribes to nothing until somebody waits. */
  constructor(bus: BusLike) {
    this.#bus = checkBus(bus)
  }

  /**
   * Waits from now on, so that what is published behind this call cannot be missed: publish the request, then `wait()`.
   *
   * All waiters of the same `system` and `type` share one subscription, which is gone with the last of them; several on one
   * path all get the event. The first event that matches is the reply, later ones are nobody's. Throws `TypeError` or
   * `RangeError` naming the option, what the bus throws at `maxSubscribers`, and `code: 'stopped'` after `stop()`.
   */
  prepare(options: AwaitOptions): ReplyWaiter {
    const { system, type, signal } = check('options', options, 'object')
    const patterns = { system, type }
    const path = option(options, 'path', 'string', undefined)
    const since = option(options, 'since', 'number', undefined, 0, Number.MAX_SAFE_INTEGER)
    const where = option(options, 'where', 'function', undefined)
    const timeoutMs = option(options, 'timeoutMs', 'number', 30_000, 0)
    check('type', type, 'string')
    checkSignal(signal)
    if (this.#stopped) throw stoppedError('the service')

    const share = this.#shareOf(patterns)
    const waiter = new Waiter(this.#bus, { path, timeoutMs, where, signal })
    this.#waiters.add(waiter)
    waiter.holds(() => this.#waiters.delete(waiter))
    if (since !== undefined) waiter.search()
    share.add(waiter)
    if (since !== undefined) this.#search(waiter, patterns, since)
    return waiter
  }

  /** `prepare` and `wait()` in one, for replies that nobody needs to be asked for; rejects where they throw. */
  await(options: AwaitOptions): Promise<Reply> {
    try {
      return this.prepare(options).wait()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Terminal: every wait rejects with `code: 'stopped'`. */
  stop(): void {
    this.#stopped = true
    for (const waiter of this.#waiters) waiter.fail(stoppedError('the service'))
  }

  [dispose](): void {
    this.stop()
  }

  /** Throws `TypeError` naming the pattern, and what the bus throws. */
  #shareOf(patterns: EventPattern): Share {
    const key = JSON.stringify([patterns.system, patterns.type])
    const share = this.#shares.get(key) ?? new Share(this.#bus, patterns, () => this.#shares.delete(key))
    this.#shares.set(key, share)
    return share
  }

  /** Goes through what is retained, with a subscription of its own for so long. */
  #search(waiter: Waiter, patterns: EventPattern, lastEventId: number): void {
    if (!waiter.waiting) return
    const subscription = this.#searcher(waiter, {
      lastEventId,
      filter: matchEvents(patterns),
      warnings: false,
    })
    const step = (frame: Frame | undefined = subscription.tryNext()) => {
      for (; frame !== undefined; frame = subscription.tryNext()) {
        if (frame.id !== undefined) waiter.take(frame)
        if (frame.type === 'replay_complete' || !waiter.waiting) return searched()
      }
      subscription.receive(
        ({ value }) => (value ? step(value) : searched()),
        (error) => waiter.fail(error),
      )
    }
    const searched = () => {
      void subscription.return()
      waiter.searched()
    }
    step()
  }

  #searcher(waiter: Waiter, options: SubscribeOptions): Subscription {
    try {
      const subscription = this.#bus.subscribe(options)
      waiter.holds(() => void subscription.return())
      return subscription
    } catch (error) {
      waiter.close()
      throw error
    }
  }
}
