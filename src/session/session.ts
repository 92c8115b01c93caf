/**
 * A session joins a bus, replies that are no bus events, and whichever transport is attached now.
 *
 * States. *Detached*: no transport; from the first time on that one was lost, a timer of `graceMs` runs. *Attached*: one
 * pump (pump.ts) moves frames and replies to one transport. *Closed*: for good. `#leave` is the one way from attached to
 * detached (closed by the client, `detach`, stalled, no slot on the bus, the bus has ended); `#end` is the one way to
 * closed (`close`, grace over, `bus.close()`, too many replies), and frees the subscriber, the timer, the bus's listener
 * and the replies before it tells anybody. Replacing a transport is neither: the pump is exchanged.
 *
 * Where an attachment begins. With a cursor: a replay, whose `replay_complete` the client sees. Without one: behind the
 * last place that a transport had reached, which for the bus is a replay too, whose `replay_complete` stays here. A pump
 * that was evicted goes on in that second way, from its own position.
 *
 * Replies. A reply notes the bus's head; the pump sends it once its own place is there and no cursor is being caught up
 * with. That is the whole ordering rule, live or not. On an asynchronous bus the head covers what `publish` has resolved
 * for. A reply that was taken stays until a cursor at or past its fence (fences.ts) comes back, and the replay has told that
 * it is one of this log. Any lower one makes the reply due again at once: the replay itself may move the client's cursor past
 * the fence, and then be cut. What is still unknown about a fence counts as not seen: a reply twice is dropped by the
 * client, a lost one is not found again.
 *
 * An ended bus. Once all has gone out, the grace is a deadline that no further attachment moves: a client that comes back
 * by itself would keep the session for ever, since nothing can confirm the last replies any more.
 *
 * Hooks, `translate`, abort listeners and transports are user code and may call any method: state first, then the hook, then
 * the transport, whose client may be back before its `close` has returned.
 */

import type { BusLike, Subscription } from '../index.ts'
import { dispose } from '../internal/dispose.ts'
import { after } from '../internal/timer.ts'
import type { TransportStream } from '../internal/transport.ts'
import { Fences } from './fences.ts'
import {
  type AttachOptions,
  type CheckedSessionOptions,
  checkAttachOptions,
  checkSessionOptions,
  checkTransport,
  type SessionOptions,
} from './options.ts'
import { Pump, type PumpHost } from './pump.ts'
import { bytesOf, type Place, ReplyPool, ReplyQueue } from './replies.ts'

/** Whoever keeps several sessions. */
export interface SessionOwner {
  readonly pool: ReplyPool
  /** Called before anybody else hears that the session is over. */
  ended(session: ResumableSession): void
}

/** Makes a session part of its owner's, before anything has happened to it. */
export let adopt: (session: ResumableSession, owner: SessionOwner) => void

/** A reply did not fit, though nothing is kept that a transport took before. */
const TOO_MANY_REPLIES = 'reply_limit_exceeded'

/** The type argument comes from the options and concerns them alone: whatever its bus, a session is a `ResumableSession`. */
export class ResumableSession<Bus extends BusLike = BusLike> {
  readonly id: string
  readonly #options: CheckedSessionOptions
  readonly #replies: ReplyQueue
  readonly #host: PumpHost
  /** Ended from the start: it holds no slot, hears of the bus's close, and reports to the bus's owner. */
  readonly #watch: Subscription
  readonly #stopWatching: () => void
  #owner: SessionOwner | undefined
  #pump: Pump | undefined
  /** Behind the last event that a transport took. */
  #taken: Place
  #wasAttached = false
  #isClosed = false
  #controller = new AbortController()
  #stopGrace: (() => void) | undefined
  /** The bus has ended, and everything has gone out. */
  #isDrained = false
  /** The deadline of a drained session passed while a transport was attached. */
  #isOverdue = false

  static {
    adopt = (session, owner) => {
      session.#owner = owner
      session.#replies.pool = owner.pool
    }
  }

  /**
   * Detached, and without a timer until its first transport was lost: a session that nobody attaches to is its owner's to
   * close. On a bus that is closed it is closed from the start. Throws `TypeError` or `RangeError` naming the option.
   */
  constructor(options: SessionOptions<Bus>) {
    const checked = checkSessionOptions(options as SessionOptions)
    const { id, bus, limits, stallTimeoutMs, translate } = checked
    this.id = id
    this.#options = checked
    this.#taken = { epoch: bus.epoch, id: bus.lastEventId }
    const replies = new ReplyQueue(limits, new ReplyPool(Infinity))
    this.#replies = replies
    this.#host = {
      bus,
      replies,
      fences: new Fences(bus, replies),
      stallTimeoutMs,
      translate: (frame) => this.#call(translate, frame),
      reached: (place) => {
        this.#taken = place
      },
      drained: (pump) => {
        this.#isDrained = true
        this.#leave(pump)
      },
      failed: (pump) => this.#leave(pump),
    }
    this.#watch = bus.subscribe({ signal: AbortSignal.abort() })
    this.#stopWatching = this.#watch.onBusClose(() => this.#end('bus_closed'))
    if (bus.closed) this.#end('bus_closed')
  }

  get state(): 'detached' | 'attached' | 'closed' {
    if (this.#isClosed) return 'closed'
    return this.#pump ? 'attached' : 'detached'
  }

  /** Aborted by `cancel`, which installs a fresh one, and by the end of the session. The reason is an error with a `code`. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /**
   * Makes `transport` the one that the session sends to. With a cursor, the client gets every event behind it once, in
   * order, led by one `state_resync_required` where some are gone, then `replay_complete`, then the replies that its cursor
   * does not confirm. Without one it gets what no transport took yet, each reply in its place.
   *
   * The transport that was attached is closed as `session_taken_over`. On a closed session the new one is closed as `gone`.
   * False where the transport is not attached: closed session, transport already over (nothing changes), no subscriber slot
   * on the bus (it is closed with the error's code; the session stays), or a hook that closed the session or attached
   * another one. Throws `TypeError` or `RangeError` naming the option, and then nothing has changed.
   */
  attach(transport: TransportStream, options: AttachOptions = {}): boolean {
    checkTransport(transport)
    const { lastEventId, epoch } = checkAttachOptions(options)
    if (this.#isClosed) this.#closeTransport(transport, 'gone')
    if (this.#isClosed || transport.isClosed) return false
    if (this.#pump?.transport === transport) return true

    // Before the new one subscribes: it may need the slot.
    const replaced = this.#pump
    replaced?.stop()
    const cursor = lastEventId === undefined ? undefined : { id: lastEventId, epoch }
    let pump: Pump
    try {
      pump = new Pump(this.#host, transport, this.#taken, cursor)
    } catch (error) {
      this.#closeTransport(transport, codeOf(error))
      if (replaced) this.#leave(replaced)
      return false
    }
    return this.#install(pump)
  }

  /** The transport is gone, or to go: it is closed. Does nothing for any but the one that is attached. */
  detach(transport: TransportStream): void {
    if (this.#pump && this.#pump.transport === transport) this.#leave(this.#pump)
  }

  /**
   * Sends a message that is no event, once every event published before has gone out and no client is being caught up
   * with; replies keep their order. It stays until a client's cursor confirms it, and is sent again to one whose cursor
   * does not. `message` is kept, not copied.
   *
   * False where the session is closed, also by this reply: more may not be kept than the limits say, and a reply that no
   * transport has taken is never dropped. Throws `TypeError` for a message that JSON cannot carry.
   */
  reply(message: unknown): boolean {
    const bytes = bytesOf(message)
    if (this.#isClosed) return false
    const { epoch, lastEventId: id } = this.#options.bus
    if (!this.#replies.add({ message, bytes, behind: { epoch, id } })) {
      this.#end(TOO_MANY_REPLIES)
      return false
    }
    this.#pump?.wake()
    return true
  }

  /** Aborts the signal, calls `onCancel` and installs a fresh signal. Session, transport and replies stay. */
  cancel(reason?: unknown): void {
    if (this.#isClosed || this.signal.aborted) return
    this.#controller.abort(reason ?? abortReason('cancelled'))
    if (!this.#isClosed) this.#call(this.#options.onCancel, reason)
    if (!this.#isClosed) this.#controller = new AbortController()
  }

  /** Ends the session at once, and its transport behind what was sent, with `reason` if there is one. Twice is once. */
  close(reason?: string): void {
    this.#end(reason)
  }

  /** `close()`. */
  [dispose](): void {
    this.#end()
  }

  #install(pump: Pump): boolean {
    const { onReclaim, onReplace } = this.#options
    // Subscribing calls the bus's diagnostics, which are user code.
    if (this.#isClosed) {
      pump.stop()
      this.#closeTransport(pump.transport, 'gone')
      return false
    }
    const replaced = this.#pump
    this.#pump = pump
    // That of a drained session is a deadline.
    if (!this.#isDrained) this.#stopGrace = this.#stopGrace?.() as undefined
    const left = () => this.#leave(pump)
    pump.transport.closed.then(left, left)
    void pump.start()
    const wasAttached = this.#wasAttached
    this.#wasAttached = true
    if (replaced) {
      replaced.stop()
      this.#call(onReplace)
      this.#closeTransport(replaced.transport, 'session_taken_over')
    } else if (wasAttached) this.#call(onReclaim)
    return this.#pump === pump
  }

  #leave(pump: Pump): void {
    // A transport that was replaced may close whenever it likes.
    if (this.#pump !== pump) return
    const { graceMs, onDetach } = this.#options
    pump.stop()
    this.#pump = undefined
    const isOver = graceMs === 0 || this.#isOverdue
    if (!isOver) this.#stopGrace ??= after(graceMs, () => this.#graceOver())
    this.#call(onDetach)
    this.#closeTransport(pump.transport)
    if (isOver && !this.#pump) this.#graceOver()
  }

  #graceOver(): void {
    if (this.#pump) this.#isOverdue = true
    else if (this.#isDrained) this.#end('bus_ended')
    else this.#end('expired', this.#options.onExpire)
  }

  /** The one end of every session. */
  #end(reason?: string, onExpire?: () => void): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const pump = this.#pump
    this.#pump = undefined
    pump?.stop()
    this.#stopGrace?.()
    this.#stopWatching()
    this.#replies.clear()
    this.#owner?.ended(this)
    if (pump) this.#closeTransport(pump.transport, reason)
    this.#controller.abort(abortReason(reason ?? 'closed'))
    this.#call(onExpire)
    this.#call(this.#options.onClose, reason)
  }

  #closeTransport(transport: TransportStream, reason?: string): void {
    this.#call(() => {
      if (!transport.isClosed) transport.close(reason)
    })
  }

  /** User code: what it throws is reported. */
  #call<A extends unknown[], R>(callback: ((...args: A) => R) | undefined, ...args: A): R | undefined {
    try {
      return callback?.(...args)
    } catch (error) {
      this.#watch.report({ type: 'callback_error', error })
      return undefined
    }
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : 'error'
}

function abortReason(code: string): Error {
  return Object.assign(new Error(`the session was ended: ${code}`), { name: 'AbortError', code })
}
