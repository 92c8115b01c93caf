/** A handler for the events that match. */

import type { BusLike } from '../index.ts'
import { check, checkBus } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'
import type { EventPattern } from './match-events.ts'
import { type HandlerContext, Runs } from './runs.ts'
import { Subscriber, type SubscriberOptions } from './subscriber.ts'
import type { EventIn, Matched } from './types.ts'

export interface SubscribeHandlerOptions<Type extends string = string>
  extends EventPattern<Type>,
    SubscriberOptions {}

/** A subscriber's handle. */
export interface HandlerSubscription {
  /**
   * No handler starts any more; resolves when those that run have finished. Called by a handler before its first `await`,
   * it does not wait for that one. Never rejects; more than once is once.
   */
  readonly close: () => Promise<void>
  /** Every event up to here was handled, or was none for this subscriber: where to go on from another time. */
  readonly position: number
  [Symbol.asyncDispose](): Promise<void>
}

export type Handler<Event> = (event: Event, context: HandlerContext) => unknown

/**
 * Calls `handler` for every event that matches, one after the other, or up to `concurrency` at a time. The handler is
 * never called inside `publish`, but right after the code that published. Where it returns a promise, the next event
 * waits for that; where it throws or rejects, the error is reported, and the next event comes all the same.
 *
 * It is one subscriber of the bus, and waits for nobody. What it has not come to waits in the bus's bounded queue, beyond
 * that in the ring: it is never evicted, keeps its slot and misses nothing that the ring still has when it gets there.
 * Anything else is told as a gap. It ends with `close`, the signal, or the bus, whose end it reaches behind the last event.
 *
 * With an aborted signal, or on a closed bus, the handle is closed. Throws `TypeError` or `RangeError` naming the option,
 * and what the bus throws at `maxSubscribers`.
 */
export function subscribe<Bus extends BusLike, const Type extends string = string>(
  bus: Bus,
  options: SubscribeHandlerOptions<Type>,
  handler: Handler<Matched<EventIn<Bus>, Type>>,
): HandlerSubscription {
  checkBus(bus)
  const { system, type, path } = check('options', options, 'object')
  const subscriber = new Subscriber(bus, { system, type, path }, options, handler, new Runs())
  const close = () => subscriber.close()
  return {
    close,
    get position() {
      return subscriber.position
    },
    [asyncDispose]: close,
  }
}
