/** What a `BoundedAsyncQueue` is made of: what stands in it beside live entries, and the reads that wait for one. */

export type Result<T> = IteratorResult<T, undefined>

/** A read that found nothing yet. */
export interface Waiter {
  readonly batch: boolean
  readonly resolve: (result: Result<never>) => void
  readonly reject: (error: unknown) => void
  /** The read that came after it: thousands may overlap, and each end is touched in O(1). */
  next: Waiter | undefined
}

/** An entry of a queue that never counts, or a run of them. Live entries stand in the queue as they are. */
export class Forced {
  readonly value: unknown
  readonly run: Iterator<unknown> | undefined

  constructor(value: unknown, run?: Iterator<unknown>) {
    this.value = value
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

/** Lets a run that is dropped clean up after itself. */
export function closeRun(run: Iterator<unknown> | undefined): void {
  try {
    run?.return?.()
  } catch {
    // Nobody reads any more, so nobody is there to be told.
  }
}
