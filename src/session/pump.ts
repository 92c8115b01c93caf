/**
 * One attachment: takes frames from a subscription one by one, and gives their messages and the replies to a transport.
 *
 * One loop, which awaits each send. Each time round it sends the next reply if that is due, else the next frame, else moves
 * the client's cursor, else waits. What the transport does not take stays in the bus's queue and ring.
 */

import type { BusEvent, BusLike, Frame, StateResyncRequired, Subscription } from '../index.ts'
import { after, now } from '../internal/timer.ts'
import { closedError, type TransportStream } from '../internal/transport.ts'
import { type Fences, isFence } from './fences.ts'
import type { Place, Reply, ReplyQueue } from './replies.ts'

/** The session, as its pump sees it. */
export interface PumpHost {
  readonly bus: BusLike
  readonly replies: ReplyQueue
  readonly fences: Fences
  readonly stallTimeoutMs: number
  /** Does not throw. */
  translate(frame: Frame): unknown
  /** The transport has everything up to here. */
  reached(place: Place): void
  /** The bus has ended, and everything has gone out. */
  drained(pump: Pump): void
  /** The attachment cannot go on. */
  failed(pump: Pump): void
}

export class Pump {
  readonly transport: TransportStream
  readonly #host: PumpHost
  /** A client's cursor is being caught up with: replies wait. */
  #replaying: boolean
  #replayedFences = 0
  #lastReplayed: number | undefined
  /** Everything up to here has gone out, or was told as gone. */
  #place: Place
  /** The id that the transport was given last, if it can be one of this epoch. */
  #cursor: number | undefined
  #subscription: Subscription
  /** A frame that came while the loop was busy or asleep. */
  #received: Frame | undefined
  #asking = false
  /** The subscription is over. */
  #over = false
  #failed = false
  #stopped = false
  #wake: (() => void) | undefined
  #sendingSince: number | undefined
  #stopWatch: (() => void) | undefined

  /** Subscribes, from the client's `cursor` or else from `taken`, and throws what that throws. Nothing is sent yet. */
  constructor(
    host: PumpHost,
    transport: TransportStream,
    taken: Place,
    cursor?: { readonly id: number; readonly epoch: string | undefined },
  ) {
    this.#host = host
    this.transport = transport
    this.#replaying = cursor !== undefined
    this.#cursor = cursor?.id
    const { id, epoch } = cursor ?? taken
    this.#subscription = host.bus.subscribe({ lastEventId: id, epoch })
    this.#place = { id, epoch: this.#subscription.epoch }
    // Now: a replay that is cut may have moved the client's cursor past fences that were ahead of it.
    if (cursor) host.replies.resume(this.#place)
  }

  /** Begins in a moment: what brought the transport is done first. Never rejects. */
  async start(): Promise<void> {
    await undefined
    try {
      // Also where nothing is pending: others have to be able to stop this.
      while (!this.#stopped) await this.#step()
    } catch {
      // The bus's backend or the transport: the session stays, and the client comes back with its cursor.
      if (!this.#stopped) this.#host.failed(this)
    }
  }

  /** A reply was added. */
  wake(): void {
    this.#wake?.()
  }

  /** Sends no more, at once, and frees the subscriber's slot. More than once is once. */
  stop(): void {
    this.#stopped = true
    this.#stopWatch?.()
    void this.#subscription.return()
    this.wake()
  }

  #step(): void | Promise<void> {
    const reply = this.#dueReply()
    if (reply) return this.#giveReply(reply)
    const frame = this.#next()
    if (frame) return this.#give(frame)
    if (this.#over && this.#subscription.evicted) return this.#goOn()
    // It failed, or ended before its bus. What is thrown only ends the loop.
    if (this.#failed || (this.#over && !this.#host.bus.ended)) throw closedError()
    if (this.#cursor !== this.#place.id && !this.#replaying && this.transport.cursor) {
      return this.#moveCursor(this.#place.id)
    }
    if (!this.#over) return new Promise((resolve) => (this.#wake = resolve))
    this.#host.drained(this)
  }

  /** The next reply, if everything that was published before it has gone out. */
  #dueReply(): Reply | undefined {
    if (this.#replaying) return undefined
    const reply = this.#host.replies.next
    if (!reply) return undefined
    const { behind } = reply
    const { id, epoch } = this.#place
    // What preceded it in an epoch that is over cannot come any more.
    const isPast = behind.epoch === epoch ? behind.id <= id : epoch === this.#host.bus.epoch
    return isPast ? reply : undefined
  }

  /** The next frame if it is there; else asks to be woken by it. */
  #next(): Frame | undefined {
    if (this.#received === undefined && !this.#asking && !this.#over) {
      const ready = this.#subscription.tryNext()
      if (ready) return ready
      this.#ask()
    }
    const frame = this.#received
    this.#received = undefined
    return frame
  }

  #ask(): void {
    this.#asking = true
    const answered = () => {
      this.#asking = false
      this.wake()
    }
    this.#subscription.receive(
      ({ value, done }) => {
        if (done) this.#over = true
        else this.#received = value
        answered()
      },
      () => {
        this.#failed = true
        answered()
      },
    )
  }

  /** Outrun: from here on out of the ring, which tells what it has lost. */
  #goOn(): void {
    const { position, epoch } = this.#subscription
    this.#over = false
    this.#subscription = this.#host.bus.subscribe({ lastEventId: position, epoch })
    // Whoever heard of the gap may have ended this.
    if (this.#stopped) this.stop()
  }

  #give(frame: Frame): void | Promise<void> {
    // Known already, since the next frame is asked for behind this one.
    const place = { id: this.#subscription.position, epoch: this.#subscription.epoch }
    const taken = () => {
      this.#place = place
      this.#host.reached(place)
    }
    if (frame.id === undefined) return this.#giveControl(frame, taken)
    if (!isFence(frame)) {
      this.#lastReplayed = frame.id
      return this.#send(frame, taken)
    }
    this.#replayedFences++
    this.#host.fences.saw(frame as BusEvent, place.epoch)
    return this.#moveCursor(frame.id, taken)
  }

  #giveControl(frame: Frame, taken: () => void): void | Promise<void> {
    switch (frame.type) {
      case 'client_evicted':
        return
      case 'replay_complete':
        // Of a subscription that took over from another: the client asked for no replay.
        if (!this.#replaying) return taken()
        this.#host.replies.confirm()
        return this.#send(this.#counted(frame), () => {
          this.#replaying = false
          taken()
        })
      case 'state_resync_required':
        // The client's cursor is none of this log: another node may be ahead of this one.
        if (this.#replaying && (frame as StateResyncRequired).data.reason === 'epoch_reset') {
          this.#host.replies.resume()
        }
        this.#cursor = undefined
    }
    return this.#send(frame, taken)
  }

  /** `replay_complete` without the fences. */
  #counted(frame: Frame): Frame {
    if (this.#replayedFences === 0) return frame
    const replayedCount = (frame.data as { replayedCount: number }).replayedCount - this.#replayedFences
    const lastReplayedEventId = this.#lastReplayed
    const data = replayedCount > 0 ? { replayedCount, lastReplayedEventId } : { replayedCount }
    return { v: 1, type: 'replay_complete', data } as Frame
  }

  #send(frame: Frame, taken: () => void): void | Promise<void> {
    const { id } = frame
    const message = this.#host.translate(frame)
    // Translating is user code.
    if (this.#stopped) return
    if (message === undefined) return taken()
    const unsent = (error: unknown) => {
      if (this.#stopped || this.transport.isClosed || isSerialisable(message)) throw error
      return id === undefined ? taken() : this.#tellLost(frame as BusEvent, taken)
    }
    try {
      return this.#settled(this.transport.send(message, id), () => {
        this.#cursor = id ?? this.#cursor
        taken()
      })?.catch(unsent)
    } catch (error) {
      return unsent(error)
    }
  }

  /** JSON cannot carry an event: it is told as lost, and the cursor moves past it. */
  #tellLost({ id, type }: BusEvent, taken: () => void): void | Promise<void> {
    const { epoch } = this.#subscription
    const data = { reason: 'not_serialisable', lastDeliveredId: id - 1, earliestAvailableId: id + 1, epoch }
    this.#subscription.report({ type: 'event_not_serialisable', id, eventType: type })
    return this.#send({ v: 1, type: 'state_resync_required', data } as Frame, taken)
  }

  #giveReply(reply: Reply): void | Promise<void> {
    return this.#settled(this.transport.send(reply.message), () => {
      const sending = this.#host.replies.taken(reply)
      if (sending !== undefined) this.#host.fences.raise(sending)
    })
  }

  #moveCursor(id: number, taken?: () => void): void | Promise<void> {
    return this.#settled(this.transport.cursor?.(id), () => {
      this.#cursor = id
      taken?.()
    })
  }

  /**
   * Waits until the transport has taken what it was given, and not for ever. `taken` runs as the promise settles: a
   * transport that took a message and then closed has taken it.
   */
  #settled(sent: void | Promise<void>, taken: () => void): void | Promise<void> {
    if (typeof sent?.then === 'function') return this.#pending(sent, taken)
    if (this.transport.isClosed) throw closedError()
    // Sending is user code as well, and may have ended this.
    if (!this.#stopped) taken()
  }

  async #pending(sent: Promise<void>, taken: () => void): Promise<void> {
    this.#sendingSince = now()
    const { stallTimeoutMs } = this.#host
    if (stallTimeoutMs > 0 && !this.#stopWatch && !this.#stopped) this.#watch(stallTimeoutMs)
    try {
      await sent
    } finally {
      this.#sendingSince = undefined
    }
    if (!this.#stopped) taken()
  }

  /** Looks when the send that is pending now would have stalled: a timer anew for every send would cost more. */
  #watch(ms: number): void {
    this.#stopWatch = after(ms, () => {
      this.#stopWatch = undefined
      if (this.#sendingSince === undefined) return
      const left = Math.ceil(this.#sendingSince + this.#host.stallTimeoutMs - now())
      if (left > 0) this.#watch(left)
      else this.#host.failed(this)
    })
  }
}

function isSerialisable(message: unknown): boolean {
  try {
    JSON.stringify(message)
    return true
  } catch {
    return false
  }
}
