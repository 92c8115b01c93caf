/**
 * The bus: publish once, and every subscriber gets every event exactly once, in order, or is told in-band what it missed.
 *
 * What is kept: the last `ringSize` events, within `maxRingBytes`. A newcomer without a cursor starts behind the last
 * event; one with a cursor gets what it missed first, led by `state_resync_required` where some of that is gone. A
 * subscriber whose backlog is full is warned, then evicted with a cursor to go on from; nobody else waits for it.
 */

import { checkDrain } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { keptOf } from '../internal/kept.ts'
import type { CloseOptions, SubscribeOptions, Subscription } from './bus-like.ts'
import type { BusStats } from './diagnostics.ts'
import { draftOf, Rejection, sealDraft } from './draft.ts'
import { SubscriberLimitExceededError } from './errors.ts'
import type { AnyEvents, BusEvent, EventMap, EventOf, Frame, PublishInput } from './event.ts'
import { Hub } from './hub.ts'
import { EventLog } from './log.ts'
import {
  type CheckedSubscribeOptions,
  checkBusOptions,
  checkSubscribeOptions,
  type EventBusOptions,
  type SubscriberCaps,
} from './options.ts'
import { judgeCursor, Replay } from './replay.ts'
import { BusSubscription, type SubscriptionPlan } from './subscription.ts'

const MAX_RING_SIZE = 1_000_000

export class EventBus<Events extends EventMap<Events> = AnyEvents> {
  readonly #epoch: string
  readonly #log: EventLog
  readonly #hub: Hub
  readonly #caps: SubscriberCaps & { readonly maxSubscribers: number }
  /** A byte cap is set: the JSON of an event is made and measured as it is published. */
  readonly #measured: boolean
  #published = 0
  #rejected = 0
  #ended = false
  #closed = false

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: EventBusOptions = {}) {
    const checked = checkBusOptions(options)
    const { epoch, ringSize, maxRingBytes, startAfterId } = checked
    this.#epoch = epoch
    this.#caps = checked
    this.#measured = Math.min(maxRingBytes, checked.maxQueuedBytes) < Infinity
    this.#log = new EventLog(Math.min(ringSize, MAX_RING_SIZE), maxRingBytes, startAfterId)
    this.#hub = new Hub(checked.onDiagnostic)
  }

  /** Which incarnation of the ids this is: a cursor of another epoch cannot be resumed. */
  get epoch(): string {
    return this.#epoch
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
    const measured = this.#measured
    const draft = draftOf(input, measured)
    // Getters and `toJSON` ran just now, and may have ended the bus.
    if (this.#ended) return undefined
    if (draft instanceof Rejection) return this.#reject(draft)
    const id = this.#log.lastId + 1
    if (id > Number.MAX_SAFE_INTEGER) return this.#reject(new Rejection('ids_exhausted', draft.type))
    const event = sealDraft(draft, id, measured)
    const bytes = measured ? keptOf(event).bytes : 0
    this.#published++
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
  subscribe(options: SubscribeOptions<Events> = {}): Subscription<Frame<Events>> {
    const checked = checkSubscribeOptions(options as SubscribeOptions, this.#caps, this.#measured)
    const { signal, filter } = checked
    const replays = checked.lastEventId !== undefined || checked.last !== undefined
    const over = this.#closed || signal?.aborted || (this.#ended && !replays)
    if (!this.#ended && !over) this.#admit()
    const passes = filter && ((event: BusEvent) => this.#hub.ask(filter, event))
    const plan = { ...checked, ...this.#startOf(checked), head: this.#log.lastId, passes }
    const replay = replays && !over ? this.#replay(plan) : undefined
    const subscription = new BusSubscription(this.#hub, plan, replay)
    if (this.#ended || over) subscription.close({ drain: !over })
    return subscription as Subscription<Frame<Events>>
  }

  /**
   * No more events: `publish` returns undefined, live subscribers read what is queued and are done. `subscribe` with
   * `lastEventId` or `from` goes on working, and ends behind its replay. Twice is once.
   */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#hub.finish()
  }

  /** Everything is over, also on a bus that ended; what is queued may still be read, or with `drain: false` is dropped. */
  close(options: CloseOptions = {}): void {
    const drain = checkDrain(options)
    this.#ended = this.#closed = true
    if (drain) this.#hub.finish()
    else this.#hub.discard()
    this.#log.clear()
  }

  stats(): BusStats {
    const { client_evicted, slow_client_warning, state_resync_required } = this.#hub.announced
    return {
      published: this.#published,
      rejected: this.#rejected,
      evicted: client_evicted,
      warned: slow_client_warning,
      resyncs: state_resync_required,
      lastEventId: this.#log.lastId,
      earliestAvailableId: this.#log.earliestId,
      ringEvents: this.#log.size,
      ringBytes: this.#log.bytes,
      subscribers: Array.from(this.#hub.subscribers, (subscriber) => subscriber.stats),
    }
  }

  /** `close({ drain: false })`. */
  [dispose](): void {
    this.close({ drain: false })
  }

  #reject({ reason, eventType }: Rejection): undefined {
    this.#rejected++
    this.#hub.report({ type: 'event_rejected', reason, ...(eventType !== undefined && { eventType }) })
  }

  #admit(): void {
    const limit = this.#caps.maxSubscribers
    if (this.#hub.subscribers.size < limit) return
    this.#hub.report({ type: 'subscriber_rejected', limit })
    throw new SubscriberLimitExceededError(limit)
  }

  #startOf({ lastEventId, epoch = this.#epoch, last = 0 }: CheckedSubscribeOptions) {
    if (lastEventId !== undefined) return { start: lastEventId, epoch }
    return { start: Math.max(this.#log.lastId - last, this.#log.earliestId - 1), epoch: this.#epoch }
  }

  #replay({ start, epoch, passes }: SubscriptionPlan): Replay {
    const resync = judgeCursor(start, epoch, this.#log, this.#epoch)
    if (resync !== undefined) this.#hub.announce(resync)
    return new Replay(this.#log, start, resync, passes)
  }
}
