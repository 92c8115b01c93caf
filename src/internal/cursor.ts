/**
 * A place in a stream of events: behind the event `id`, and with `epoch` only on a bus of that epoch. `id` is an integer
 * from 0 (before the first event) to 2^53 − 1; `epoch` is [A-Za-z0-9_-]{1,64}.
 */
export interface Cursor {
  readonly id: number
  readonly epoch?: string
}

/** A cursor as callers write it: with an epoch that they may not have. */
export interface CursorInput {
  readonly id: number
  readonly epoch?: string | undefined
}

/** `7`, or `<epoch>:7`, of values that were checked. */
export function cursorText(id: number, epoch: string | undefined): string {
  return epoch === undefined ? `${id}` : `${epoch}:${id}`
}
