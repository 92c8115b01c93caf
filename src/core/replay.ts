/**
 * What a resumed stream reads before its live events: one `state_resync_required` where events are gone, the retained
 * events behind the cursor, `replay_complete`. Read from the shared log as the consumer asks, and complete however slowly
 * that is and however far the log has moved on.
 */

import {
  type BusEvent,
  controlFrame,
  type Frame,
  type ReplayComplete,
  type StateResyncRequired,
} from './event.ts'
import type { Retained } from './log.ts'
import type { ReplayRun } from './subscription.ts'

/** Who is asked of each event. */
interface Filter {
  passes(event: BusEvent): boolean
}

/** What is to be told of a cursor on a log that reaches from `earliestAvailableId` to `head`, if anything. */
export function resyncOf(
  cursor: number,
  cursorEpoch: string,
  { epoch, earliestAvailableId }: { readonly epoch: string; readonly earliestAvailableId: number },
  head: number,
): StateResyncRequired | undefined {
  const mismatch = cursorEpoch !== epoch
  const reset = mismatch || cursor > head
  // Judged by the watermark: an empty log says nothing about what has left it.
  if (!reset && cursor + 1 >= earliestAvailableId) return undefined
  return controlFrame('state_resync_required', {
    reason: reset ? 'epoch_reset' : 'ring_evicted',
    lastDeliveredId: cursor,
    earliestAvailableId,
    epoch,
    ...(mismatch && { detail: 'epoch_mismatch' }),
  })
}

/** The end of a replay; there is no last event where none passed. */
export function completeOf(replayedCount: number, lastReplayedEventId: number): ReplayComplete {
  return controlFrame(
    'replay_complete',
    replayedCount ? { replayedCount, lastReplayedEventId } : { replayedCount },
  )
}

/** Written by hand: a generator costs 600 bytes more for each subscriber, and twice the time for each event. */
export class Replay implements ReplayRun {
  position: number
  done = false
  /** The event given last: an iterator that is its own result makes no object for each, and is read at once. */
  value: Frame | undefined
  #retained: Retained | undefined
  #resync: StateResyncRequired | undefined
  readonly #head: number
  readonly #filter: Filter | undefined
  #replayedCount = 0

  constructor(
    retained: Retained,
    position: number,
    head: number,
    resync: StateResyncRequired | undefined,
    filter: Filter | undefined,
  ) {
    this.#retained = retained
    this.position = position
    this.#head = head
    this.#resync = resync
    this.#filter = filter
  }

  next(): IteratorResult<Frame, undefined> {
    const resync = this.#resync
    if (resync) {
      this.#resync = undefined
      this.position = resync.data.earliestAvailableId - 1
      return { value: resync, done: false }
    }
    while (!this.done && this.position < this.#head) {
      // Moved on before the filter is asked: it is user code, and may look, or end the subscription.
      const event = (this.#retained as Retained)(++this.position)
      const passed = this.#filter === undefined || this.#filter.passes(event)
      if (!passed || this.done) continue
      this.#replayedCount++
      this.value = event
      return this as IteratorYieldResult<Frame>
    }
    if (this.done) return { value: undefined, done: true }
    const complete = completeOf(this.#replayedCount, this.value?.id as number)
    this.done = true
    // Read to its end, it holds nothing: the queue may keep it for long.
    this.#retained = this.value = undefined
    return { value: complete, done: false }
  }

  [Symbol.iterator](): this {
    return this
  }
}
