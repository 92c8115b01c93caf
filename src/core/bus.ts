/**
 * The bus: publish once, and every subscriber gets every event exactly once, in order, or is told in-band what it missed.
 *
 * What is kept: the last `ringSize` events, within `maxRingBytes`. A newcomer without a cursor starts behind the last
 * event; one with a cursor gets what it missed first, led by `state_resync_required` where some of that is gone. A
 * subscriber whose backlog is full is warned, then evicted with a cursor to go on from; nobody else waits for it.
 */

import { drains } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { sizeOf } from '../internal/kept.ts'
import type { CloseOptions, SubscribeOptions, Subscription } from './bus-like.ts'
import type { BusStats } from './diagnostics.ts'
import { draftOf, rejection } from './draft.ts'
import type { AnyEvents, BusEvent, EventMap, EventOf, Frame, PublishInput } from './event.ts'
import { Hub } from './hub.ts'
import { EventLog } from './log.ts'
import {
  type CheckedBusOptions,
  checkBusOptions,
  checkSubscribeOptions,
  type EventBusOptions,
} from './options.ts'
import { Replay, resyncOf } from './replay.ts'
import { BusSubscription } from './subscription.ts'

export class EventBus<Events extends EventMap<Events> = AnyEvents> {
  readonly #options: CheckedBusOptions
  readonly #log: EventLog
  readonly #hub: Hub
  #ended = false
  #closed = false

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: EventBusOptions = {}) {
    this.#options = checkBusOptions(options)
    this.#log = new EventLog(this.#options)
    this.#hub = new Hub(this.#options.onDiagnostic)
  }

  /** Which incarnation of the ids this is: a cursor of another epoch cannot be resumed. */
  get epoch(): string {
    return this.#options.epoch
  }

  /** The id of the last event; `startAfterId` on a fresh bus. */
  get lastEventId(): number {
    return this.#log.lastId
  }

  /** The oldest retained id, or the next one where nothing is retained. */
  get earliestAvailableId(): number {
    return this.#log.earliestId
  }

  get subscriberCount(): number {
    return this.#hub.subscribers.size
  }

  /** No more events come; what is retained stays readable until `close()`. */
  get ended(): boolean {
    return this.#ended
  }

  get closed(): boolean {
    return this.#closed
  }

  /**
   * Gives an event to every subscriber and retains it. Never throws, never waits.
   *
   * Returns the frozen event, or undefined when the bus has ended (silent) or the input cannot be an event: then no id is
   * used, nobody sees anything, and `event_rejected` says why. With a byte cap that includes what JSON cannot carry.
   * From inside a callback of the bus, the event has its id and its place at once and reaches the subscribers behind the
   * event that is being given to them.
   */
  publish(input: PublishInput<Events>): EventOf<Events> | undefined {
    if (this.#ended) return undefined
    const { measured } = this.#options
    const draft = draftOf(input, measured)
    // Getters and `toJSON` ran just now, and may have ended the bus.
    if (this.#ended) return undefined
    if (draft.id === undefined) return this.#hub.reject(draft)
    draft.id = this.lastEventId + 1
    if (draft.id > Number.MAX_SAFE_INTEGER) return this.#hub.reject(rejection('ids_exhausted', draft.type))
    const event = Object.freeze(draft) as BusEvent
    const bytes = measured ? sizeOf(event) : 0
    this.#log.append(event, bytes)
    this.#hub.deliver(event, bytes)
    return event as EventOf<Events>
  }

  /**
   * Registers a subscriber before it returns: it gets exactly the events above `lastEventId` as of now, though nobody
   * iterates yet, behind a replay if it asked for one.
   *
   * Returns an ended subscription on a closed bus, with an aborted signal, and on an ended bus without `lastEventId` or
   * `from`. Throws `SubscriberLimitExceededError` at `maxSubscribers`, and `TypeError` or `RangeError` naming a bad option.
   */
  subscribe(options: SubscribeOptions<EventOf<Events>> = {}): Subscription<Frame<Events>> {
    const checked = checkSubscribeOptions(options as SubscribeOptions, this.#options)
    const { lastEventId, last, signal, epoch } = checked
    const { lastEventId: head, earliestAvailableId } = this
    const over = this.#closed || signal?.aborted
    if (!over && !this.#ended) this.#hub.admit(this.#options.maxSubscribers)

    const subscription = new BusSubscription(this.#hub, checked, head)
    const cursor = lastEventId ?? (last === undefined ? last : Math.max(head - last, earliestAvailableId - 1))
    if (cursor !== undefined) {
      const resync = resyncOf(cursor, epoch, this, head)
      const filter = checked.filter && subscription
      subscription.resume(cursor, new Replay(this.#log.read(), cursor, head, resync, filter))
      // Told only now: whoever hears of it may publish, and that is live for this subscriber.
      if (resync && !over) this.#hub.announce('resyncs', resync)
    }
    if (over || this.#ended) subscription.close({ drain: !over })
    return subscription as Subscription<Frame<Events>>
  }

  /**
   * No more events: `publish` returns undefined, live subscribers read what is queued and are done. `subscribe` with
   * `lastEventId` or `from` goes on working, and ends behind its replay. Twice is once.
   */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#hub.finish(true)
  }

  /** Everything is over, also on a bus that ended; what is queued may still be read, or with `drain: false` is dropped. */
  close(options: CloseOptions = {}): void {
    const drain = drains(options)
    this.#ended = this.#closed = true
    this.#hub.finish(drain)
    this.#log.clear()
    for (const listener of this.#hub.closeListeners) listener()
  }

  stats(): BusStats {
    const { lastEventId, earliestAvailableId } = this
    return {
      ...this.#hub.counts,
      published: lastEventId - this.#options.startAfterId,
      lastEventId,
      earliestAvailableId,
      ringEvents: this.#log.size,
      ringBytes: this.#log.bytes,
      subscribers: Array.from(this.#hub.subscribers, (subscriber) => subscriber.stats),
    }
  }

  /** `close({ drain: false })`. */
  [dispose](): void {
    this.close({ drain: false })
  }
}
