/** Request and reply: waits that begin before the request is published. */

import type { BusEvent, BusLike, Frame, SubscribeOptions, Subscription } from '../index.ts'
import { check, checkBus, option } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { soon } from '../internal/soon.ts'
import { stoppedError } from './errors.ts'
import { filterOf, wayOf } from './match-events.ts'
import type { Segment } from './pattern.ts'
import { onEnd, routing } from './routed.ts'
import type { EventIn, Matched } from './types.ts'
import { type Reply, Waiter, type WaiterOptions } from './waiter.ts'

export interface AwaitOptions<Bus extends BusLike = BusLike, Type extends string = string>
  extends WaiterOptions {
  /** A pattern; left out, any system or none. */
  readonly system?: string | undefined
  /** A pattern. */
  readonly type: Type
  /**
   * Also what the bus retains behind this id, or all of it where the id is above the bus's head, being of an earlier life.
   * Without it, only what comes behind the head of now.
   */
  readonly since?: number | undefined
  readonly where?: ((event: Matched<EventIn<Bus>, Type>) => boolean) | undefined
}

/** A wait under way. */
export interface ReplyWaiter<Event extends BusEvent = BusEvent> {
  /**
   * The reply. Rejects with `AwaitTimeoutError` (`code: 'await_timeout'`), an `AbortError` (`code: 'aborted'`), `code:
   * 'stopped'` when the waiter, its service or its bus is over, or what `where` threw; never as an unhandled rejection.
   */
  wait(): Promise<Reply<Event>>
  /** Waits no more, and leaves nothing behind; a `wait()` that had no outcome rejects. */
  close(): void
  [Symbol.dispose](): void
}

/** The waiters of one pair of patterns, which share a subscription, by their paths. */
class Share {
  readonly #waiters = new Map<string | undefined, Set<Waiter>>()
  readonly #subscription: Subscription
  readonly #empty: () => void
  /** Also those that are still searching. */
  readonly kept = new Set<Waiter>()
  /** Makes the error of whoever waits though it has ended. */
  #over: (() => unknown) | undefined

  /** Routes inside the filter and takes nothing: it cannot fall behind. `empty` is called when its last waiter left. */
  constructor(bus: BusLike, way: readonly Segment[], empty: () => void) {
    this.#empty = empty
    const filter = routing(way, (event) => {
      this.#offer(event, event.path)
      if (event.path !== undefined) this.#offer(event)
    })
    this.#subscription = bus.subscribe({ filter, warnings: false })
    onEnd(this.#subscription, (error) => {
      this.#over = () => error ?? stoppedError('the bus')
      for (const waiters of this.#waiters.values()) waiters.forEach(this.#end)
    })
  }

  /** Stays as long as the waiter waits, which is `add`ed when it has searched what is retained. */
  keep(waiter: Waiter): void {
    this.kept.add(waiter)
    waiter.holds(() => {
      this.kept.delete(waiter)
      if (this.kept.size > 0) return
      this.#empty()
      void this.#subscription.return()
    })
  }

  add(waiter: Waiter): void {
    const { path } = waiter
    const waiters = this.#waiters.get(path) ?? new Set()
    this.#waiters.set(path, waiters.add(waiter))
    waiter.holds(() => {
      waiters.delete(waiter)
      if (waiters.size === 0) this.#waiters.delete(path)
    })
    this.#end(waiter)
  }

  readonly #end = (waiter: Waiter) => {
    // One that has its outcome may be what ends it: an error that nobody gets costs a third of a round trip.
    if (this.#over && this.kept.has(waiter)) waiter.fail(this.#over())
  }

  #offer(event: BusEvent, path?: string): void {
    for (const waiter of this.#waiters.get(path) ?? []) waiter.offer(event)
  }
}

export class AwaitService<Bus extends BusLike = BusLike> {
  readonly #bus: BusLike
  readonly #shares = new Map<string, Share>()
  #stopped = false

  /** Subscribes to nothing until somebody waits. */
  constructor(bus: Bus) {
    this.#bus = checkBus(bus)
  }

  /**
   * Waits from now on, so that what is published behind this call cannot be missed: publish the request, then `wait()`.
   *
   * All waiters of the same `system` and `type` share one subscription, which is gone with the last of them; several on one
   * path all get the event. The first event that matches is the reply, later ones are nobody's. Throws `TypeError` or
   * `RangeError` naming the option, what the bus throws at `maxSubscribers`, and `code: 'stopped'` after `stop()`.
   */
  prepare<const Type extends string>(
    options: AwaitOptions<Bus, Type>,
  ): ReplyWaiter<Matched<EventIn<Bus>, Type>> {
    const { system, type, signal } = check('options', options, 'object')
    const patterns = { system, type: check('type', type, 'string') }
    const since = option(options, 'since', 'number', undefined, 0, Number.MAX_SAFE_INTEGER)
    if (this.#stopped) throw stoppedError('the service')

    const way = wayOf(patterns)
    const waiter = new Waiter(this.#bus, options)
    // With an aborted signal no slot is needed.
    if (signal?.aborted) return waiter
    try {
      const key = JSON.stringify(patterns)
      const share = this.#shares.get(key) ?? new Share(this.#bus, way, () => this.#shares.delete(key))
      this.#shares.set(key, share)
      share.keep(waiter)
      const join = () => share.add(waiter)
      if (since === undefined) join()
      // What comes while a replay is awaited is read right behind it, the reply perhaps among it.
      else this.#search(waiter, { lastEventId: since, filter: filterOf(way), maxQueued: Infinity }, join)
    } catch (error) {
      waiter.close()
      throw error
    }
    return waiter
  }

  /** `prepare` and `wait()` in one, for replies that nobody needs to be asked for; rejects where they throw. */
  await<const Type extends string>(
    options: AwaitOptions<Bus, Type>,
  ): Promise<Reply<Matched<EventIn<Bus>, Type>>> {
    try {
      return this.prepare(options).wait()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Terminal: every wait rejects with `code: 'stopped'`. */
  stop(): void {
    this.#stopped = true
    for (const { kept } of this.#shares.values())
      for (const waiter of kept) waiter.fail(stoppedError('the service'))
  }

  [dispose](): void {
    this.stop()
  }

  /** Goes through what is retained, with a subscription of its own, which is live until the waiter has joined the others. */
  #search(waiter: Waiter, options: SubscribeOptions, join: () => void): void {
    const subscription = this.#bus.subscribe(options)
    waiter.holds(() => void subscription.return())
    let joined = false
    // Behind the read that brings it, within which nothing else is given.
    const ask = () => subscription.receive(({ value }) => soon(() => step(value)), fail)
    /** Without a frame, at the end. */
    const step = (frame: Frame | undefined) => {
      let searched = !frame
      for (; frame; frame = subscription.tryNext()) {
        if (frame.id) waiter.take(frame)
        else searched ||= frame.type === 'replay_complete'
      }
      if (joined) return
      if (!searched) return ask()
      // What is done here may bring the end, which leads here again.
      joined = true
      const { evicted, position, epoch } = subscription
      void subscription.return()
      // More came while it searched than the bus's cap on bytes lets wait: that is retained as well.
      if (evicted) again({ ...options, lastEventId: position, epoch })
      else join()
    }
    const again = (from: SubscribeOptions) => {
      try {
        this.#search(waiter, from, join)
      } catch (error) {
        waiter.fail(error)
      }
    }
    const fail = (error: unknown) => step(void waiter.fail(error))
    const first = subscription.tryNext()
    first ? step(first) : ask()
  }
}
