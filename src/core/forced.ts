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
