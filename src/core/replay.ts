/**
 * What a resumed stream reads before its live events, in this order: one `state_resync_required` where events are gone,
 * the retained events behind the cursor, `replay_complete`. Read from the shared log as the consumer asks.
 */

import { type BusEvent, controlFrame, type Frame, type StateResyncRequired } from './event.ts'
import type { EventLog, LogReader } from './log.ts'

/** A cursor as a subscriber gave it. */
export interface Cursor {
  readonly lastEventId: number
  readonly epoch: string | undefined
}

/** Whether a cursor can be resumed without loss; if not, the frame that says so. */
export function judgeCursor(cursor: Cursor, log: EventLog, epoch: string): StateResyncRequired | undefined {
  const mismatch = cursor.epoch !== undefined && cursor.epoch !== epoch
  const reset = mismatch || cursor.lastEventId > log.lastId
  if (!reset && cursor.lastEventId + 1 >= log.earliestId) return undefined
  return controlFrame('state_resync_required', {
    reason: reset ? 'epoch_reset' : 'ring_evicted',
    lastDeliveredId: cursor.lastEventId,
    earliestAvailableId: log.earliestId,
    epoch,
    ...(mismatch && { detail: 'epoch_mismatch' }),
  })
}

export class Replay implements IterableIterator<Frame, undefined> {
  #resync: StateResyncRequired | undefined
  readonly #reader: LogReader
  readonly #passes: ((event: BusEvent) => boolean) | undefined
  readonly #head: number
  #position: number
  #count = 0
  #lastReplayed = 0
  #done = false

  constructor(
    log: EventLog,
    afterId: number,
    resync: StateResyncRequired | undefined,
    passes: ((event: BusEvent) => boolean) | undefined,
  ) {
    this.#resync = resync
    // After an epoch reset the cursor says nothing about these ids: all that is retained comes.
    this.#reader = log.read(resync === undefined ? afterId : log.earliestId - 1)
    this.#passes = passes
    this.#head = log.lastId
    this.#position = afterId
  }

  /** Everything up to here was read, filtered, or announced as gone. */
  get position(): number {
    return this.#position
  }

  /** `replay_complete` was read. */
  get done(): boolean {
    return this.#done
  }

  next(): IteratorResult<Frame, undefined> {
    if (this.#resync !== undefined) {
      const value = this.#resync
      this.#resync = undefined
      this.#position = value.data.earliestAvailableId - 1
      return { value, done: false }
    }
    for (let event = this.#reader.next(); event !== undefined; event = this.#reader.next()) {
      // Moved on before the filter is asked: it is user code, and may read or publish.
      this.#position = event.id
      if (this.#passes === undefined || this.#passes(event)) {
        this.#count++
        this.#lastReplayed = event.id
        return { value: event, done: false }
      }
    }
    if (this.#done) return { value: undefined, done: true }
    this.#done = true
    this.#position = this.#head
    return { value: this.#complete(), done: false }
  }

  [Symbol.iterator](): this {
    return this
  }

  #complete(): Frame {
    return controlFrame('replay_complete', {
      replayedCount: this.#count,
      ...(this.#count > 0 && { lastReplayedEventId: this.#lastReplayed }),
    })
  }
}
