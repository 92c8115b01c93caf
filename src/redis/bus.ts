/**
 * The bus, shared by several processes: its log is a Redis Stream, and each node follows it. Subscriptions, frames, caps,
 * warnings and evictions are those of `EventBus`; what a cursor means is judged against the stream, on any node alike.
 */

import type { CloseOptions, SubscribeOptions, Subscription } from '../core/bus-like.ts'
import type { BusStats } from '../core/diagnostics.ts'
import { draftOf, rejection } from '../core/draft.ts'
import type { AnyEvents, EventMap, EventOf, Frame, PublishInput, StateResyncRequired } from '../core/event.ts'
import { Hub } from '../core/hub.ts'
import { checkSubscribeOptions } from '../core/options.ts'
import { drains } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'
import { envelopeJson } from '../internal/kept.ts'
import { BackendUnavailableError } from './errors.ts'
import type { Link } from './link.ts'
import type { CheckedRedisOptions, RedisDiagnostic } from './options.ts'
import { Outbox } from './outbox.ts'
import { RedisReplay } from './replay.ts'
import { RedisSubscription } from './subscription.ts'
import type { StreamTail } from './tail.ts'

/** How an event's JSON begins while it has no id. */
const NO_ID = '{"id":0,'

export class RedisBus<Events extends EventMap<Events> = AnyEvents> {
  readonly #options: CheckedRedisOptions
  readonly #hub: Hub
  readonly #tail: StreamTail
  readonly #outbox: Outbox
  #published = 0
  #ended = false
  #closed = false
  #closing: Promise<void> | undefined
  #ending: Promise<void> | undefined

  /** For `createRedisBus`, which has opened the tail. */
  constructor(options: CheckedRedisOptions, link: Link, tail: StreamTail) {
    this.#options = options
    const hub = new Hub(options.onDiagnostic)
    const outbox = new Outbox(tail, link, options.timeoutMs)
    this.#hub = hub
    this.#tail = tail
    this.#outbox = outbox
    // The hub hands over what it is given, behind the fan-out under way.
    const report = hub.report.bind(hub) as (diagnostic: RedisDiagnostic) => void
    tail.listen({
      onEvent: (event, bytes, mark) => {
        hub.deliver(event, bytes)
        outbox.landed(event, mark)
      },
      onRestart: (restart) => {
        hub.fannedOut = restart.earliestAvailableId - 1
        for (const subscription of hub.subscribers) (subscription as RedisSubscription).restart(restart)
        outbox.passed(restart.reason === 'ring_evicted')
      },
      onEnd: () => this.#finish(),
      onOpen: () => outbox.flushSoon(),
      onUp: () => {
        report({ type: 'backend_available' })
        outbox.flushSoon()
      },
      onDown: (error) => report({ type: 'backend_unavailable', error }),
    })
  }

  /** Which incarnation of the stream this node stands in: a cursor of another epoch cannot be resumed. */
  get epoch(): string {
    return this.#tail.epoch
  }

  /** The last id that this node has read; another node may be ahead. */
  get lastEventId(): number {
    return this.#tail.head
  }

  /** The oldest id that the stream retains, as far as this node knows. */
  get earliestAvailableId(): number {
    return this.#tail.earliestAvailableId
  }

  /** Of this node. */
  get subscriberCount(): number {
    return this.#hub.subscribers.size
  }

  /** No more events come: the end was read, whichever node recorded it. An `end` that may still fail is none yet. */
  get ended(): boolean {
    return this.#ended
  }

  get closed(): boolean {
    return this.#closed
  }

  /**
   * Appends an event to the stream. Resolves with the event, as JSON made it, once this node has it: what is subscribed
   * afterwards without a cursor does not get it. Resolves with undefined where the bus has ended, or where the input cannot
   * be an event (told as `event_rejected`; that includes what JSON cannot carry). Calls are stored in their order, each at
   * most once.
   *
   * Rejects with `BackendUnavailableError` (`code: 'backend_unavailable'`) when Redis has not confirmed it within
   * `timeoutMs`, when the answer was lost and the stream no longer shows whether it was stored, or at once where 10,000
   * others wait for a Redis that is away. Never an unhandled rejection: who does not wait is told by `onDiagnostic` alone. It
   * may still be stored: publish it again only where twice does no harm.
   */
  publish(input: PublishInput<Events>): Promise<EventOf<Events> | undefined> {
    const published = this.#publish(input)
    // Nobody need wait for it: a server does not end for a Redis that is away, which `onDiagnostic` is told.
    published.catch(() => {})
    return published
  }

  /**
   * Registers a subscriber before it returns, like `EventBus.subscribe`: live from this node's `lastEventId` on. With a
   * cursor its first frames come when the stream itself has been asked where that stands: also one that this node has not
   * reached yet, or that another node gave. While Redis is away a replay waits and live subscribers stay.
   *
   * What the stream has dropped before a slow reader got there, or what a deleted or forked stream takes with it, is told
   * by `state_resync_required` in its place. Returns and throws what `EventBus.subscribe` does.
   */
  subscribe(options: SubscribeOptions<EventOf<Events>> = {}): Subscription<Frame<Events>> {
    const { epoch, lastEventId: head, earliestAvailableId } = this
    const checked = checkSubscribeOptions(options as SubscribeOptions, { ...this.#options, epoch })
    const { lastEventId, last, signal } = checked
    const over = this.#closed || signal?.aborted
    if (!over && !this.#ended) this.#hub.admit(this.#options.maxSubscribers)

    const subscription = new RedisSubscription(this.#hub, checked, head)
    const cursor = lastEventId ?? (last === undefined ? last : Math.max(head - last, earliestAvailableId - 1))
    if (cursor !== undefined) {
      const announce = (resync: StateResyncRequired) => this.#hub.announce('resyncs', resync)
      const replay = new RedisReplay(this.#tail, subscription, checked, cursor, announce)
      subscription.resume(cursor, replay)
      if (!over) void replay.judge()
    }
    if (over || this.#ended) subscription.close({ drain: !over })
    return subscription as Subscription<Frame<Events>>
  }

  /**
   * Resolves when this node has read all that the stream had when this was called: what any node's `publish` had resolved
   * for is at or below `lastEventId` then. Rejects with `BackendUnavailableError` where Redis cannot be asked.
   */
  async catchUp(): Promise<void> {
    try {
      const { lastEventId } = await this.#tail.look()
      await this.#tail.readUpTo(lastEventId)
    } catch (error) {
      throw new BackendUnavailableError('catchUp', this.#options.timeoutMs, error)
    }
  }

  /**
   * No more events, on any node: recorded in the stream behind what was published here before, and each node ends once it
   * has read that far. `publish` returns undefined from now on; what is retained stays readable until `close()`. Rejects
   * with `BackendUnavailableError` when Redis cannot be reached in time, and the bus goes on. Twice is once.
   */
  end(): Promise<void> {
    this.#ending ??= this.#end().finally(() => {
      this.#ending = undefined
    })
    this.#ending.catch(() => {})
    return this.#ending
  }

  /**
   * Everything is over on this node only; what is queued may still be read, or with `drain: false` is dropped. A replay
   * gives what this node has, and tells what it can no longer read. Resolves when what was published before is confirmed or
   * rejected, and so is an `end` under way, and nothing of Redis is held any more.
   */
  close(options: CloseOptions = {}): Promise<void> {
    const drain = drains(options)
    this.#ended = this.#closed = true
    this.#hub.finish(drain)
    for (const listener of this.#hub.closeListeners) listener()
    this.#closing ??= this.#leave()
    return this.#closing
  }

  /** Of this node; `published` counts its own. */
  stats(): BusStats {
    const { lastEventId, earliestAvailableId } = this
    return {
      ...this.#hub.counts,
      published: this.#published,
      lastEventId,
      earliestAvailableId,
      ringEvents: lastEventId + 1 - earliestAvailableId,
      ringBytes: this.#tail.ringBytes,
      subscribers: Array.from(this.#hub.subscribers, (subscriber) => subscriber.stats),
    }
  }

  /** `close({ drain: false })`. */
  async [asyncDispose](): Promise<void> {
    await this.close({ drain: false })
  }

  async #publish(input: PublishInput<Events>): Promise<EventOf<Events> | undefined> {
    if (this.#isEnding) return undefined
    const draft = draftOf(input, true)
    // Getters and `toJSON` ran just now, and may have ended the bus.
    if (this.#isEnding) return undefined
    if (draft.id === undefined) return this.#hub.reject(draft)
    if (this.#tail.head + this.#outbox.waiting >= Number.MAX_SAFE_INTEGER) {
      return this.#hub.reject(rejection('ids_exhausted', draft.type))
    }
    const event = await this.#outbox.publish(`{${envelopeJson(draft).slice(NO_ID.length)}`)
    if (event !== undefined) this.#published++
    return event as EventOf<Events> | undefined
  }

  /** Nothing is taken any more. */
  get #isEnding(): boolean {
    return this.#ended || this.#ending !== undefined
  }

  async #end(): Promise<void> {
    if (!this.#ended) await this.#outbox.end()
  }

  /** The end of the stream was read. */
  #finish(): void {
    if (this.#ended) return
    this.#ended = true
    this.#hub.finish(true)
  }

  async #leave(): Promise<void> {
    await Promise.allSettled([this.#ending, this.#outbox.idle()])
    this.#tail.close()
  }
}
