/**
 * What a resumed stream reads before its live events, in this order: one `state_resync_required` where events are gone,
 * the retained events behind the cursor, `replay_complete`. Read from the shared log as the consumer asks.
 */

import { type BusEvent, controlFrame, type Frame, type StateResyncRequired } from './event.ts'
import type { Chunk, EventLog } from './log.ts'

/** Whether a cursor can be resumed without loss; if not, the frame that says so. */
export function judgeCursor(
  lastEventId: number,
  cursorEpoch: string,
  log: EventLog,
  epoch: string,
): StateResyncRequired | undefined {
  const mismatch = cursorEpoch !== epoch
  const reset = mismatch || lastEventId > log.lastId
  // Judged by the watermark: an empty log says nothing about what has left it.
  if (!reset && lastEventId + 1 >= log.earliestId) return undefined
  return controlFrame('state_resync_required', {
    reason: reset ? 'epoch_reset' : 'ring_evicted',
    lastDeliveredId: lastEventId,
    earliestAvailableId: log.earliestId,
    epoch,
    ...(mismatch && { detail: 'epoch_mismatch' }),
  })
}

export class Replay implements Iterable<Frame> {
  /** Everything up to here was read, filtered, or announced as gone. */
  position: number
  /** `replay_complete` was read, or nothing more is to be. */
  done = false
  readonly #resync: StateResyncRequired | undefined
  readonly #passes: ((event: BusEvent) => boolean) | undefined
  readonly #head: number
  #spine: readonly Chunk[]

  constructor(
    log: EventLog,
    afterId: number,
    resync: StateResyncRequired | undefined,
    passes: ((event: BusEvent) => boolean) | undefined,
  ) {
    this.position = afterId
    this.#resync = resync
    this.#passes = passes
    this.#head = log.lastId
    // After an epoch reset the cursor says nothing about these ids: all that is retained comes.
    this.#spine = log.read(resync === undefined ? afterId : 0)
  }

  *[Symbol.iterator](): Generator<Frame, undefined> {
    if (this.#resync !== undefined) {
      this.position = this.#resync.data.earliestAvailableId - 1
      yield this.#resync
    }
    let replayedCount = 0
    let lastReplayedEventId = 0
    const spine = this.#spine
    // The walk holds the log from here on, and lets go of it at its end.
    this.#spine = []
    for (const { firstId, events } of spine) {
      for (let at = Math.max(0, this.position + 1 - firstId); at < events.length; at++) {
        const event = events[at] as BusEvent
        if (event.id > this.#head) break
        // Moved on before the filter is asked: it is user code, and may look, or end the subscription.
        this.position = event.id
        const passes = this.#passes === undefined || this.#passes(event)
        if (this.done) return
        if (!passes) continue
        replayedCount++
        lastReplayedEventId = event.id
        yield event
      }
    }
    this.done = true
    this.position = this.#head
    yield controlFrame('replay_complete', {
      replayedCount,
      ...(replayedCount > 0 && { lastReplayedEventId }),
    })
  }
}
