/** The handlers that run now, and who waits for them to finish. */

import type { BusEvent } from '../index.ts'

/** What a handler is given beside its event. */
export interface HandlerContext {
  /** Aborted when the subscriber is closed, whoever closes it and however. */
  readonly signal: AbortSignal
  /** Closes the subscriber, and waits for other handlers than the one that calls it. */
  readonly close: () => Promise<void>
}

/** Whose handler it is. */
interface Owner {
  readonly signal: AbortSignal
  close(from?: Run): Promise<void>
}

/** One call of a handler. */
export class Run implements HandlerContext {
  readonly owner: Owner
  readonly event: BusEvent
  /** It waits for the others itself, so that none of them may wait for it. */
  leaving = false

  constructor(owner: Owner, event: BusEvent) {
    this.owner = owner
    this.event = event
  }

  get signal(): AbortSignal {
    return this.owner.signal
  }

  get close(): () => Promise<void> {
    return () => this.owner.close(this)
  }
}

export class Runs {
  /** The one that is being called and has not come to its first `await`: whoever acts now is this one. */
  called: Run | undefined
  readonly #running = new Set<Run>()
  readonly #waiting = new Set<() => void>()

  add(run: Run): void {
    this.#running.add(run)
  }

  delete(run: Run): void {
    this.#running.delete(run)
    this.#look()
  }

  /** The first of an owner's calls that has not finished; they start in order. */
  oldest(owner: Owner): Run | undefined {
    for (const run of this.#running) if (run.owner === owner) return run
    return this.called?.owner === owner ? this.called : undefined
  }

  /**
   * Resolves when no handler of the owner runs, or none at all: but for the one that asks, and, where one asks, those that
   * asked as well, since each would wait for the other.
   */
  idle(owner?: Owner, from = this.called): Promise<void> {
    if (from) from.leaving = true
    this.#look()
    return new Promise((resolve) => {
      const look = () => {
        for (const run of this.#running) {
          const other = owner !== undefined && run.owner !== owner
          if (!other && run !== from && !(from && run.leaving)) return
        }
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }
}
