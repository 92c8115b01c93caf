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

/** `7`, or `<epoch>:7`; throws nothing. */
export function cursorText(id: number, epoch: string | undefined): string {
  return epoch === undefined ? `${id}` : `${epoch}:${id}`
}

/** The same behind a check. `OutOfDomain` is the error for a right type and a wrong value. */
export function checkedCursorText(cursor: CursorInput, OutOfDomain: ErrorConstructor): string {
  const { id, epoch } = cursor ?? {}
  if (!(Number.isSafeInteger(id) && id >= 0)) {
    throw new (typeof id === 'number' ? OutOfDomain : TypeError)('id must be an integer from 0 to 2^53 − 1')
  }
  if (epoch !== undefined && !(typeof epoch === 'string' && /^[\w-]{1,64}$/.test(epoch))) {
    throw new (typeof epoch === 'string' ? OutOfDomain : TypeError)(
      'epoch must be 1 to 64 of A-Z a-z 0-9 _ -',
    )
  }
  return cursorText(id, epoch)
}
