/** What a `BoundedAsyncQueue` is made of: what stands in it beside bare live entries, and the reads that wait for one. */

/** A read that finds this finds nothing. */
export const NOTHING = /* @__PURE__ */ Symbol()
/** What a run of ours gives while it has nothing ready: reads wait for the queue's `wake`. */
export const WAITING = /* @__PURE__ */ Symbol()
export const BATCH_LIMIT = 256
export const SPARE_SLOTS = 64

export interface BoundedAsyncQueueOptions {
  /** Live entries at the most; an integer ≥ 1, or `Infinity`. */
  maxSize: number
  /** Sum of the live entries' bytes at the most, default none. One larger entry still fits an empty queue. */
  maxBytes?: number | undefined
}

export type Result<T> = IteratorResult<T, undefined>

/** A read that found nothing yet. */
export interface Waiter {
  readonly batch: boolean
  readonly resolve: (result: Result<never>) => void
  readonly reject: (error: unknown) => void
  /** The read that came after it: thousands may overlap, and each end is touched in O(1). */
  next: Waiter | undefined
}

/** A live entry that has bytes, or with 0 of them an entry that never counts, or a run of such. */
export class Entry {
  readonly value: unknown
  readonly bytes: number
  readonly run: Iterator<unknown> | undefined

  constructor(value: unknown, bytes = 0, run?: Iterator<unknown>) {
    this.value = value
    this.bytes = bytes
    this.run = run
  }
}

/** What is left of a run that threw, where its error is to be met later. */
export function failing(error: unknown): Iterator<never> {
  return {
    next() {
      throw error
    },
  }
}

/** Lets the runs among what is dropped clean up after themselves. */
export function closeRuns(dropped: unknown[]): void {
  for (const entry of dropped) {
    try {
      if (entry instanceof Entry) entry.run?.return?.()
    } catch {
      // Nobody reads any more, so nobody is there to be told.
    }
  }
}
