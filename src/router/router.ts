/** Several handlers with one life. */

import type { BusLike } from '../index.ts'
import { check, checkBus, checkSignal, option, wrongType } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'
import { stoppedError } from './errors.ts'
import type { EventPattern } from './match-events.ts'
import { onAbort } from './on-abort.ts'
import { type HandlerContext, Runs } from './runs.ts'
import { type ErrorSource, Subscriber } from './subscriber.ts'
import type { EventIn, Matched } from './types.ts'

/** The type's pattern, or one for each of system, type and path. */
export type RoutePattern = string | EventPattern

/** The type that a pattern asks for. */
type TypeOf<Pattern> = Pattern extends { readonly type?: infer Type } ? Type : Pattern

export interface RouteHandler<Event = never, Pattern extends RoutePattern = RoutePattern> {
  readonly pattern: Pattern
  handle(event: Event, context: HandlerContext): unknown
}

/** A handler that `startRouter` and `add` take for a pattern, with the events that the bus has for it. */
export type HandlerFor<Bus extends BusLike, Pattern extends RoutePattern> = RouteHandler<
  Matched<EventIn<Bus>, TypeOf<Pattern>>,
  Pattern
>

export interface RouterOptions<Bus extends BusLike, Patterns extends readonly RoutePattern[]> {
  readonly handlers: { readonly [Index in keyof Patterns]: HandlerFor<Bus, Patterns[Index]> }
  /** Stops the router. */
  readonly signal?: AbortSignal | undefined
  /** Told what a handler threw or rejected with, and of gaps; default: the bus's `onDiagnostic`, by a `callback_error`. */
  readonly onError?: ((error: unknown, source: ErrorSource) => unknown) | undefined
}

/** Made by `startRouter`. */
export class EventRouter<Bus extends BusLike = BusLike> {
  readonly #bus: Bus
  readonly #onError: RouterOptions<Bus, []>['onError']
  /** The last one of each handler, also of one that is over: a call of it may still run. */
  readonly #subscribers = new WeakMap<object, Subscriber>()
  readonly #runs = new Runs(() => this.#bus.ended && this.#forget?.())
  /** Leaves nothing at the signal. */
  readonly #forget: (() => void) | undefined
  #stopped = false

  constructor(bus: Bus, { signal, onError }: Pick<RouterOptions<Bus, []>, 'signal' | 'onError'>) {
    this.#bus = bus
    this.#onError = onError
    this.#forget = onAbort(signal, () => this.#end())
  }

  /**
   * Subscribes a handler to what comes from now on; one that is subscribed already stays as it is. One that is added again
   * while a call of it still runs may run twice at a time, and `remove` waits for the newer life only; `stop()` for both.
   * Throws `TypeError` for a bad pattern, what the bus throws at `maxSubscribers`, and `code: 'stopped'` after `stop()`.
   */
  add<const Pattern extends RoutePattern>(handler: HandlerFor<Bus, Pattern>): void {
    if (this.#stopped) throw stoppedError('the router')
    const subscribed = this.#subscribers.get(check('handler', handler, 'object'))
    if (this.#runs.owners.has(subscribed as Subscriber)) return
    const { pattern, handle } = handler
    check('handle', handle, 'function')
    const subscriber = new Subscriber(
      this.#bus,
      pattern,
      { onError: this.#onError },
      (event, context) => handler.handle(event, context),
      this.#runs,
    )
    this.#subscribers.set(handler, subscriber)
  }

  /**
   * Its handler is not called any more; resolves when its running call has finished, also where it was removed before. That
   * call does not wait for itself if it asks before its first `await`, or by the `close` it was given.
   */
  async remove(handler: object): Promise<void> {
    await this.#subscribers.get(handler)?.close()
  }

  /**
   * Terminal: no handler starts any more, and what is queued is dropped. Resolves when those that run have finished;
   * called by a handler before its first `await`, it does not wait for that one. A second call waits for the same end.
   */
  stop(): Promise<void> {
    this.#end()
    return this.#runs.idle()
  }

  /** `stop()`. */
  [asyncDispose](): Promise<void> {
    return this.stop()
  }

  #end(): void {
    this.#stopped = true
    this.#forget?.()
    for (const owner of this.#runs.owners) owner.end()
  }
}

/**
 * Starts a subscriber for each handler, on what comes from now on: each in order, none waiting for another. With an aborted
 * signal the router is stopped. Throws what `add` throws, and then no handler is subscribed.
 */
export function startRouter<Bus extends BusLike, const Patterns extends readonly RoutePattern[]>(
  bus: Bus,
  options: RouterOptions<Bus, Patterns>,
): EventRouter<Bus> {
  checkBus(bus)
  checkSignal(check('options', options, 'object').signal)
  if (!Array.isArray(options.handlers)) throw wrongType('handlers', 'an array', options.handlers)
  option(options, 'onError', 'function')
  const router = new EventRouter(bus, options)
  try {
    if (!options.signal?.aborted) for (const handler of options.handlers) router.add(handler)
  } catch (error) {
    void router.stop()
    throw error
  }
  return router
}
