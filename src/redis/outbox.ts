/**
 * What this node publishes, on its way to the stream: in order, many events in one atomic step, each at most once.
 *
 * Every step carries a mark, which the stream keeps with its events, and is taken only behind the one before, which Redis may
 * have refused. Where a connection was lost, the node first reads what the stream has: marks found there have landed, and
 * the others are sent again. What may have landed and left the stream since is rejected.
 */

import type { BusEvent } from '../core/event.ts'
import { freshEpoch } from '../core/options.ts'
import { soon } from '../internal/soon.ts'
import { after, now } from '../internal/timer.ts'
import { recordEnd } from './ending.ts'
import { BackendUnavailableError } from './errors.ts'
import { codeOf, type Link } from './link.ts'
import { eventOf, type Step } from './stream.ts'
import type { StreamTail } from './tail.ts'

const BATCH_EVENTS = 250
const BATCH_LENGTH = 1_000_000
// On their way, or stored and not read here yet: under load, what waits for the next one makes it larger. Together they fit
// into what the stream keeps beyond the ring, so that a node never outruns itself.
const STEPS = 4
/** Events that wait for a Redis that is known to be away. */
const MAX_WAITING = 10_000

interface Sending {
  readonly text: string
  readonly settle: (event: BusEvent | undefined) => void
  readonly fail: (error: unknown) => void
  readonly deadline: number
  /** Known once Redis has said so. */
  id: number
  isOver: boolean
}

/** Sent, and not found in the stream yet. */
interface Flight {
  readonly sendings: readonly Sending[]
  /** The connection was lost: nobody knows whether Redis has it. */
  isUnanswered: boolean
  /** The node did not see all that the stream was given meanwhile. */
  isUnseen: boolean
}

export class Outbox {
  /** Of this node, in every mark. */
  readonly #name = freshEpoch()
  readonly #tail: StreamTail
  readonly #link: Link
  readonly #timeoutMs: number
  /** What is not over, in order: its front is what expires next. */
  readonly #pending: Sending[] = []
  #front = 0
  #unsent: Sending[] = []
  /** By the marks of their steps. */
  readonly #steps = new Map<string, Flight>()
  #stepCount = 0
  #onTheirWay = 0
  /** The step that was sent last, and the last id that is known to be older than it. */
  #before = ''
  #floor = 0
  #isRecovering = false
  #isFlushing = false
  #lastError: unknown
  #stopTimer: (() => void) | undefined
  #idle: (() => void)[] = []

  constructor(tail: StreamTail, link: Link, timeoutMs: number) {
    this.#tail = tail
    this.#link = link
    this.#timeoutMs = timeoutMs
  }

  /** How many events may still get an id. */
  get waiting(): number {
    return this.#pending.length - this.#front
  }

  /** Settles with the event when this node has it, with undefined where the bus had ended. */
  publish(text: string): Promise<BusEvent | undefined> {
    return new Promise((settle, fail) => {
      if (!this.#link.isUp && this.#unsent.length >= MAX_WAITING) return fail(this.#unavailable('publish'))
      const sending = { text, settle, fail, deadline: now() + this.#timeoutMs, id: 0, isOver: false }
      this.#pending.push(sending)
      this.#unsent.push(sending)
      if (!this.#stopTimer) this.#arm()
      this.flushSoon()
    })
  }

  /** An event that was read, with its mark. */
  landed(event: BusEvent, mark: string): void {
    const dot = mark.lastIndexOf('.')
    const sendings = this.#steps.get(mark.slice(0, dot))?.sendings
    if (sendings === undefined) return
    const at = Number(mark.slice(dot + 1)) - 1
    if (at === sendings.length - 1) {
      this.#steps.delete(mark.slice(0, dot))
      if (this.#unsent.length > 0) this.flushSoon()
    }
    const sending = sendings[at]
    if (sending !== undefined) this.#finish(sending, () => sending.settle(event))
    // The node may have come in the middle of a step: it is in the stream whole.
    for (let before = at - 1; sendings[before]?.isOver === false; before--) {
      this.#identify(sendings[before] as Sending, event.id - at + before)
    }
  }

  /** The node stands elsewhere now, and will not read what it was told of before; in the same stream, where `isSame`. */
  passed(isSame: boolean): void {
    for (const [mark, flight] of this.#steps) {
      const { sendings } = flight
      if (sendings[0]?.id === 0) flight.isUnseen ||= isSame
      else {
        this.#steps.delete(mark)
        for (const sending of sendings) this.#identify(sending, sending.id)
      }
    }
    if (this.#unsent.length > 0) this.flushSoon()
  }

  /** Settles when everything is over that was published before. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.#sweep()
    })
  }

  /**
   * Records the end behind everything that was published before, and reads up to there. Rejects with
   * `BackendUnavailableError` where Redis does not confirm that in time.
   */
  async end(): Promise<void> {
    await this.idle()
    await recordEnd(this.#tail, this.#timeoutMs, (cause) => this.#unavailable('end', cause))
  }

  /** Sends what waits, together with whatever else is published now. */
  flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    soon(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    while (this.#link.isUp && this.#tail.isOpen && !this.#isRecovering && this.#steps.size < STEPS) {
      const sendings = this.#nextSendings()
      if (sendings.length === 0) return
      void this.#send(sendings)
    }
  }

  #nextSendings(): Sending[] {
    const sendings: Sending[] = []
    let length = 0
    let taken = 0
    for (const sending of this.#unsent) {
      if (sendings.length === BATCH_EVENTS || length > BATCH_LENGTH) break
      taken++
      if (sending.isOver) continue
      sendings.push(sending)
      length += sending.text.length
    }
    this.#unsent = taken === this.#unsent.length ? [] : this.#unsent.slice(taken)
    return sendings
  }

  async #send(sendings: Sending[]): Promise<void> {
    const mark = `${this.#name}.${++this.#stepCount}`
    const flight = { sendings, isUnanswered: false, isUnseen: false }
    this.#steps.set(mark, flight)
    const { epoch, head } = this.#tail
    if (this.#onTheirWay++ === 0) {
      this.#before = ''
      this.#floor = head
    }
    const texts = sendings.map((sending) => sending.text)
    const step = { epoch, mark, before: this.#before, floor: this.#floor, texts }
    this.#before = mark
    try {
      const reply = await this.#tail.append(step)
      if (typeof reply === 'number') this.#arrived(sendings, step, reply)
      else if (reply === 'ended') this.#refused(sendings, mark)
      // The stream is another one than this node thought, or what was sent before was refused.
      else this.#isRecovering = true
    } catch (error) {
      this.#lastError = error
      this.#isRecovering = true
      // What Redis refuses begins with a word in capitals.
      flight.isUnanswered = codeOf(error).length < 2
    }
    this.#onTheirWay--
    if (!this.#isRecovering) this.#flush()
    else if (this.#onTheirWay === 0) void this.#recover()
  }

  #arrived(sendings: Sending[], step: Step, last: number): void {
    const { epoch, mark } = step
    const first = last + 1 - sendings.length
    sendings.forEach((sending, at) => {
      sending.id = first + at
    })
    this.#floor = last
    this.#tail.feedOwn(step, first)
    // Otherwise the reader brings it, behind what somebody else published before; or never, where the node moved on.
    const isToCome = this.#tail.isOpen && epoch === this.#tail.epoch && last > this.#tail.head
    if (isToCome || !this.#steps.delete(mark)) return
    for (const sending of sendings) this.#identify(sending, sending.id)
    // It got ids that this node has read as others': an older copy of the stream is in its place.
    if (epoch === this.#tail.epoch) void this.#tail.look().catch(() => {})
  }

  #refused(sendings: Sending[], mark: string): void {
    this.#steps.delete(mark)
    for (const sending of sendings) this.#finish(sending, () => sending.settle(undefined))
    // Another node has ended the bus, and this one has not read that yet.
    void this.#tail.look().catch(() => {})
  }

  /** Finds out what has landed, and sends the rest again, in order; not what may have landed and gone since. */
  async #recover(): Promise<void> {
    while (this.#isRecovering) {
      await this.#tail.again()
      try {
        const { lastEventId } = await this.#tail.look()
        await this.#tail.readUpTo(lastEventId)
        this.#isRecovering = false
      } catch (error) {
        this.#lastError = error
        if (this.#tail.isClosed) return
      }
    }
    const again: Sending[] = []
    for (const { sendings, isUnanswered, isUnseen } of this.#steps.values()) {
      const unknown = sendings.filter((sending) => sending.id === 0)
      if (isUnanswered && isUnseen) for (const sending of unknown) this.#fail(sending)
      else again.push(...unknown)
    }
    this.#steps.clear()
    this.#unsent = [...again, ...this.#unsent]
    this.#flush()
  }

  /** It is in the stream under this id, though this node does not read it there. */
  #identify(sending: Sending, id: number): void {
    this.#finish(sending, () => sending.settle(eventOf(id, sending.text)))
  }

  #fail(sending: Sending): void {
    this.#finish(sending, () => sending.fail(this.#unavailable('publish')))
  }

  /** The one end of everything that was published. */
  #finish(sending: Sending, tell: () => void): void {
    if (sending.isOver) return
    sending.isOver = true
    tell()
    if (this.#pending[this.#front] === sending) this.#sweep()
  }

  /** Lets go of what is over at the front. */
  #sweep(): void {
    while (this.#pending[this.#front]?.isOver) this.#front++
    if (this.#front * 2 >= this.#pending.length) {
      this.#pending.splice(0, this.#front)
      this.#front = 0
    }
    if (this.#pending.length > 0) return
    this.#stopTimer?.()
    this.#stopTimer = undefined
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #arm(): void {
    const next = this.#pending[this.#front]
    if (next === undefined) return
    this.#stopTimer = after(Math.max(0, next.deadline - now()), () => this.#expire(), 'awaited')
  }

  #expire(): void {
    const time = now()
    for (const sending of this.#pending.slice(this.#front)) {
      if (sending.deadline > time) break
      // Stored, though this node could not read it.
      if (sending.id > 0) this.#identify(sending, sending.id)
      else this.#fail(sending)
    }
    this.#unsent = this.#unsent.filter((sending) => !sending.isOver)
    this.#arm()
  }

  #unavailable(what: string, cause = this.#lastError): BackendUnavailableError {
    return new BackendUnavailableError(what, this.#timeoutMs, cause ?? this.#link.error)
  }
}
