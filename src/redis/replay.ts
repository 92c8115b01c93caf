/**
 * What a resumed stream of a bus on Redis reads before its live events. Where it begins is judged against the stream
 * itself, looked at behind `subscribe`; what is older than the node's window is read from Redis, page by page as the
 * consumer asks. Reads wait meanwhile, and what Redis has dropped by then is announced.
 */

import { type BusEvent, controlFrame, type Frame, type StateResyncRequired } from '../core/event.ts'
import type { Retained } from '../core/log.ts'
import type { CheckedSubscribeOptions } from '../core/options.ts'
import { WAITING } from '../core/queue-parts.ts'
import { resyncOf } from '../core/replay.ts'
import type { ReplayRun } from '../core/subscription.ts'
import type { RedisSubscription } from './subscription.ts'
import type { StreamTail } from './tail.ts'

const NOT_YET = { value: WAITING, done: false } as unknown as IteratorResult<Frame, undefined>
const DONE = { value: undefined, done: true } as const

export class RedisReplay implements ReplayRun {
  done = false
  position: number
  readonly #tail: StreamTail
  readonly #subscription: RedisSubscription
  readonly #announce: (resync: StateResyncRequired) => void
  readonly #isFiltered: boolean
  readonly #signal: AbortSignal | undefined
  /** Up to here is replay; what the node has read since counts as live. */
  #head: number
  /** Where the stream goes on by itself. */
  #until = Infinity
  #resync: StateResyncRequired | undefined
  #completed = false
  #isWaiting = false
  #epoch = ''
  #retained: Retained | undefined
  /** The window begins here; what is older comes in pages. */
  #windowId = 0
  #page: BusEvent[] = []
  #at = 0
  #replayedCount = 0
  #lastReplayedEventId = 0

  constructor(
    tail: StreamTail,
    subscription: RedisSubscription,
    announce: (resync: StateResyncRequired) => void,
    { filter, signal }: CheckedSubscribeOptions,
    position: number,
  ) {
    this.#tail = tail
    this.#subscription = subscription
    this.#announce = announce
    this.#isFiltered = filter !== undefined
    this.#signal = signal
    this.#head = tail.head
    this.position = position
  }

  /** Asks the stream where the cursor stands in it, as soon as it can be asked. */
  async judge({ lastEventId, last = Infinity, epoch }: CheckedSubscribeOptions): Promise<void> {
    const tail = this.#tail
    const epochThen = tail.epoch
    while (!this.done) {
      try {
        const known = await tail.look()
        if (known.epoch !== tail.epoch) continue
        // The node began anew meanwhile, and so do those that came before.
        if (epochThen !== tail.epoch) this.#head = tail.head
        const { earliestAvailableId, lastEventId: head } = known
        const cursor = lastEventId ?? Math.max(this.#head - last, earliestAvailableId - 1)
        const resync = lastEventId === undefined ? undefined : resyncOf(cursor, epoch, known, head)
        if (!this.done) this.#settle(cursor, known.epoch, resync)
        return
      } catch {
        if (tail.isClosed) this.return()
        else await tail.again()
      }
    }
  }

  next(): IteratorResult<Frame, undefined> {
    while (!this.done) {
      const frame = this.#takeResync() ?? this.#takeComplete()
      if (frame !== undefined) return { value: frame, done: false }
      if (this.position >= this.#until) this.done = true
      else {
        const event = this.#step()
        if (event !== undefined && this.#pass(event)) return { value: event, done: false }
        if (event === undefined && this.#resync === undefined) {
          this.#isWaiting = true
          // A stream that has left hears no abort otherwise.
          this.#signal?.addEventListener('abort', this)
          return NOT_YET
        }
      }
    }
    this.#retained = undefined
    return DONE
  }

  /** Dropped: nothing more is to be read. */
  return(): IteratorResult<Frame, undefined> {
    this.done = true
    this.#retained = undefined
    this.#wake()
    return DONE
  }

  [Symbol.iterator](): this {
    return this
  }

  #settle(cursor: number, epoch: string, resync: StateResyncRequired | undefined): void {
    this.#epoch = epoch
    this.#resync = resync
    this.position = resync ? resync.data.earliestAvailableId - 1 : cursor
    // A cursor that this node has not reached yet waits: what comes up to there is not for it.
    this.#until = Math.max(this.position, this.#tail.head)
    this.#subscription.start(cursor, this.#until)
    const { retained, earliestId } = this.#tail.read()
    this.#retained = retained
    this.#windowId = earliestId
    if (resync) this.#announce(resync)
    this.#wake()
  }

  #takeResync(): Frame | undefined {
    const resync = this.#resync
    this.#resync = undefined
    if (resync !== undefined) this.position = resync.data.earliestAvailableId - 1
    return resync
  }

  #takeComplete(): Frame | undefined {
    if (this.#completed || this.#until === Infinity || this.position < this.#head) return undefined
    this.#completed = true
    this.done = this.position >= this.#until
    const replayedCount = this.#replayedCount
    const lastReplayedEventId = this.#lastReplayedEventId
    return controlFrame(
      'replay_complete',
      replayedCount ? { replayedCount, lastReplayedEventId } : { replayedCount },
    )
  }

  /** The next event, or nothing while it is on its way or where it is gone. */
  #step(): BusEvent | undefined {
    const id = this.position + 1
    if (this.#retained === undefined) return undefined
    if (id >= this.#windowId) return this.#retained(id)
    const event = this.#page[this.#at]
    if (event === undefined) void this.#turnPage()
    else if (event.id > id) this.#skipTo(event.id)
    else this.#at++
    return event?.id === id ? event : undefined
  }

  async #turnPage(): Promise<void> {
    const last = this.#windowId - 1
    this.#page = []
    this.#at = 0
    while (!this.done && this.#page.length === 0 && this.#resync === undefined) {
      try {
        this.#page = this.#tail.isClosed ? [] : await this.#tail.page(this.#epoch, this.position, last)
        if (this.#page.length === 0) this.#skipTo(last + 1)
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
      epoch: this.#epoch,
    })
    this.#announce(this.#resync)
  }

  #pass(event: BusEvent): boolean {
    // Moved on before the filter is asked: it is user code, and may look, or end the subscription.
    this.position = event.id
    if ((this.#isFiltered && !this.#subscription.passes(event)) || this.done) return false
    if (!this.#completed) {
      this.#replayedCount++
      this.#lastReplayedEventId = event.id
    }
    return true
  }

  /** The signal's side: what waits looks again, and finds that it is over. */
  handleEvent(): void {
    this.#wake()
  }

  #wake(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#signal?.removeEventListener('abort', this)
    this.#subscription.ready()
  }
}
