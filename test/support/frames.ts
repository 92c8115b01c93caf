/** Short notation for frames: an event is its id, a control frame its type and data, the end of a stream is `DONE`. */

import type { ClientEvicted, Frame, ReplayComplete, SlowClientWarning } from '../../src/index.ts'

/** The epoch of every bus that the vocabulary makes. */
export const EPOCH = 'test-epoch'

export const DONE = 'done'

export interface ControlNotation {
  type: string
  [field: string]: unknown
}

export type Notation = number | ControlNotation | typeof DONE

/** An event as its id, a control frame as `{ type, ...data }`. */
export function notationOf(frame: Frame): Notation {
  return frame.id === undefined ? { type: frame.type, ...(frame.data as object) } : frame.id
}

/** `resync('ring_evicted', 0, 3)` reads `resync(ring_evicted, 0→3)`. */
export function resync(
  reason: 'ring_evicted' | 'epoch_reset',
  lastDeliveredId: number,
  earliestAvailableId: number,
  more: { epoch?: string; detail?: string } = {},
): ControlNotation {
  return {
    type: 'state_resync_required',
    reason,
    lastDeliveredId,
    earliestAvailableId,
    epoch: EPOCH,
    ...more,
  }
}

/** `complete(0)` has no `lastReplayedEventId`. */
export function complete(replayedCount: number, lastReplayedEventId?: number): ControlNotation {
  const data: ReplayComplete['data'] =
    lastReplayedEventId === undefined ? { replayedCount } : { replayedCount, lastReplayedEventId }
  return { type: 'replay_complete', ...data }
}

export function warning(data: SlowClientWarning['data']): ControlNotation {
  return { type: 'slow_client_warning', ...data }
}

export function evicted(data: ClientEvicted['data']): ControlNotation {
  return { type: 'client_evicted', ...data }
}

/** `from` to `to`, both included; empty when `from` is behind `to`. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}
