/**
 * What a resumed stream of a bus on Redis reads before its live events. Where it begins is judged against the stream
 * itself, looked at behind `subscribe`; what is older than the node's window is read from Redis, page by page as the
 * consumer asks. Reads wait meanwhile, and what Redis has dropped by then is announced.
 */

import { type BusEvent, controlFrame, type Frame, type StateResyncRequired } from '../core/event.ts'
import type { CheckedSubscribeOptions } from '../core/options.ts'
import { WAITING } from '../core/queue-parts.ts'
import { completeOf, resyncOf } from '../core/replay.ts'
import type { ReplayRun } from '../core/subscription.ts'
import type { Entry } from './reader.ts'
import { eventAt, numberOf } from './stream.ts'
import type { RedisSubscription } from './subscription.ts'
import type { StreamTail } from './tail.ts'
import type { View } from './window.ts'

const NOT_YET = { value: WAITING, done: false } as unknown as IteratorResult<Frame, undefined>
const DONE = { value: undefined, done: true } as const

export class RedisReplay implements ReplayRun {
  done = false
  position: number
  readonly #tail: StreamTail
  readonly #subscription: RedisSubscription
  readonly #options: CheckedSubscribeOptions
  readonly #announce: (resync: StateResyncRequired) => void
  /** What the node has of the log that is replayed, up to where live events begin. */
  #view: View
  #isSettled = false
  #isWaiting = false
  #resync: StateResyncRequired | undefined
  #page: BusEvent[] = []
  #at = 0
  #replayedCount = 0
  #lastReplayedEventId = 0

  constructor(
    tail: StreamTail,
    subscription: RedisSubscription,
    options: CheckedSubscribeOptions,
    position: number,
    announce: (resync: StateResyncRequired) => void,
  ) {
    this.#tail = tail
    this.#subscription = subscription
    this.#options = options
    this.#announce = announce
    this.#view = tail.view()
    this.position = position
  }

  next(): IteratorResult<Frame, undefined> {
    while (!this.done) {
      const control = this.#takeResync() ?? this.#takeComplete()
      if (control !== undefined) return { value: control, done: false }
      const event = this.#step()
      if (event !== undefined && this.#pass(event)) return { value: event, done: false }
      if (event === undefined && this.#resync === undefined) return this.#wait()
    }
    this.#page = []
    return DONE
  }

  /** Dropped: nothing more is to be read. */
  return(): IteratorResult<Frame, undefined> {
    this.done = true
    this.#wake()
    return DONE
  }

  [Symbol.iterator](): this {
    return this
  }

  /** Asks the stream where the cursor stands in it, as soon as it can be asked. */
  async judge(): Promise<void> {
    const tail = this.#tail
    while (!this.done) {
      try {
        const { epoch, earliestAvailableId, lastEventId } = await tail.look()
        // The node moved on with another look; what it has now is judged by the next one.
        if (epoch !== tail.epoch) continue
        if (!this.#subscription.isLive) this.#view = tail.view()
        // The log is another one by now, and what came live of this one stays: so does what the node has of it.
        if (epoch !== this.#view.epoch) this.#settle(this.#view.earliestId, this.#view.head)
        else this.#settle(earliestAvailableId, lastEventId)
        return
      } catch {
        if (tail.isClosed) return this.#settleHere()
        await tail.again()
      }
    }
  }

  /** The bus was closed before the stream could be asked: what this node has is all there is. */
  #settleHere(): void {
    const { lastEventId = 0, epoch } = this.#options
    const { head, earliestId } = this.#view
    if (epoch !== this.#view.epoch || lastEventId <= head) this.#settle(earliestId, head)
    else {
      // Ahead of all that, and nothing is known to be missing.
      this.#subscription.settle(lastEventId, lastEventId)
      this.return()
    }
  }

  /** Stands in a log that has what is between `earliest` and `last`. */
  #settle(earliest: number, last: number): void {
    const { lastEventId, epoch } = this.#options
    const { head } = this.#view
    // What this node has not read yet comes live, so that it is not gone.
    const earliestAvailableId = Math.min(earliest, head + 1)
    const cursor = lastEventId ?? Math.max(head - (this.#options.last as number), earliestAvailableId - 1)
    const log = { epoch: this.#view.epoch, earliestAvailableId }
    this.#resync = lastEventId === undefined ? undefined : resyncOf(cursor, epoch, log, last)
    this.position = this.#resync ? earliestAvailableId - 1 : cursor
    this.#isSettled = true
    // A cursor that this node has not reached yet waits: what comes up to there is not for it.
    this.#subscription.settle(cursor, Math.max(this.position, head))
    if (this.#resync) this.#announce(this.#resync)
    this.#wake()
  }

  #takeResync(): Frame | undefined {
    const resync = this.#resync
    this.#resync = undefined
    if (resync !== undefined) this.position = resync.data.earliestAvailableId - 1
    return resync
  }

  #takeComplete(): Frame | undefined {
    if (!this.#isSettled || this.position < this.#view.head) return undefined
    this.done = true
    return completeOf(this.#replayedCount, this.#lastReplayedEventId)
  }

  /** The next event, or nothing while it is on its way or where it is gone. */
  #step(): BusEvent | undefined {
    if (!this.#isSettled) return undefined
    const id = this.position + 1
    if (id >= this.#view.earliestId) return this.#view.retained(id)
    const event = this.#page[this.#at]
    if (event === undefined) void this.#turnPage()
    else if (event.id > id) this.#skipTo(event.id)
    else this.#at++
    return event?.id === id ? event : undefined
  }

  async #turnPage(): Promise<void> {
    const { epoch, earliestId } = this.#view
    this.#page = []
    this.#at = 0
    while (!this.done && this.#page.length === 0 && this.#resync === undefined) {
      try {
        const entries = this.#tail.isClosed ? [] : await this.#tail.stream.page(this.position, earliestId - 1)
        this.#page = entries.flatMap((entry) => eventIn(epoch, entry) ?? [])
        // Nothing of ours is left; or what is there is no event, and what is behind it may be one.
        const [id, [name] = []] = entries.at(-1) ?? []
        if (this.#page.length === 0) this.#skipTo(id && name === epoch ? numberOf(id) + 1 : earliestId)
      } catch {
        await this.#tail.again()
      }
    }
    this.#wake()
  }

  /** Announces what has left Redis before it was read. */
  #skipTo(earliestAvailableId: number): void {
    this.#resync = controlFrame('state_resync_required', {
      reason: 'ring_evicted',
      lastDeliveredId: this.position,
      earliestAvailableId,
      epoch: this.#view.epoch,
    })
    this.#announce(this.#resync)
  }

  #pass(event: BusEvent): boolean {
    // Moved on before the filter is asked: it is user code, and may look, or end the subscription.
    this.position = event.id
    if ((this.#options.filter && !this.#subscription.passes(event)) || this.done) return false
    this.#replayedCount++
    this.#lastReplayedEventId = event.id
    return true
  }

  #wait(): IteratorResult<Frame, undefined> {
    this.#isWaiting = true
    // A stream that has left hears no abort otherwise.
    this.#options.signal?.addEventListener('abort', this)
    return NOT_YET
  }

  #wake(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#options.signal?.removeEventListener('abort', this)
    this.#subscription.ready()
  }

  /** The signal's side: what waits looks again, and finds that it is over. */
  handleEvent(): void {
    this.#wake()
  }
}

/** The event of an entry; none where the entry is of another epoch, or of no bus. */
function eventIn(epoch: string, [id, [name, text]]: Entry): BusEvent | undefined {
  return name === epoch ? eventAt(numberOf(id), text as string) : undefined
}
