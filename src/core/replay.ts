/**
 * What a resumed stream reads before its live events, in this order: one `state_resync_required` where events are gone,
 * the retained events behind the cursor, `replay_complete`. Read from the shared log as the consumer asks.
 */

import { type BusEvent, controlFrame, type Frame, type StateResyncRequired } from './event.ts'
import type { EventLog } from './log.ts'

export interface Replay {
  /** Everything up to here was read, filtered, or announced as gone. */
  position: number
  /** `replay_complete` was read, or nothing more is to be. */
  done: boolean
  readonly frames: Iterable<Frame>
}

/** Takes the log as it is now: a replay is complete however slowly it is read and however far the log moves on. */
export function replayOf(
  log: EventLog,
  position: number,
  resync: StateResyncRequired | undefined,
  passes: ((event: BusEvent) => boolean) | undefined,
): Replay {
  const head = log.lastId
  // After an epoch reset the cursor says nothing about these ids: all that is retained comes.
  let chunks = log.read(resync ? 0 : position)
  const replay = { position, done: false, frames: frames() }
  return replay

  function* frames(): Generator<Frame, undefined> {
    if (resync) {
      replay.position = resync.data.earliestAvailableId - 1
      yield resync
    }
    let replayedCount = 0
    let lastReplayedEventId = 0
    for (const { firstId, events } of chunks) {
      for (
        let id = Math.max(firstId, replay.position + 1);
        id <= head && id < firstId + events.length;
        id++
      ) {
        const event = events[id - firstId] as BusEvent
        // Moved on before the filter is asked: it is user code, and may look, or end the subscription.
        replay.position = id
        const passed = !passes || passes(event)
        if (replay.done) return
        if (passed) {
          replayedCount++
          lastReplayedEventId = id
          yield event
        }
      }
    }
    replay.done = true
    // Read to its end, it holds nothing: the frame below may wait long to be asked for.
    chunks = []
    yield controlFrame(
      'replay_complete',
      replayedCount ? { replayedCount, lastReplayedEventId } : { replayedCount },
    )
  }
}
