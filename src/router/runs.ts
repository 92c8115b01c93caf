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
  /** Its calls that have come to an `await` and not finished, in the order in which they started. */
  readonly running: Set<Run>
  close(from?: Run): Promise<void>
}

/** Somebody who waits until so many calls have finished: another call, or whoever else. */
interface Wait {
  readonly from: Run | undefined
  left: number
  readonly resolve: () => void
}

/** One call of a handler. */
export class Run implements HandlerContext {
  readonly owner: Owner
  readonly event: BusEvent
  /** Who waits for it, as long as it has not finished. */
  readonly waits: Wait[] = []

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

  add(run: Run): void {
    this.#running.add(run)
    run.owner.running.add(run)
  }

  delete(run: Run): void {
    this.#running.delete(run)
    run.owner.running.delete(run)
    run.waits.splice(0).forEach(count)
  }

  /** The first of an owner's calls that has not finished. */
  oldest(owner: Owner): Run | undefined {
    for (const run of owner.running) return run
    return this.called?.owner === owner ? this.called : undefined
  }

  /**
   * Resolves when the owner's calls have finished, or all: those that run now, but for the one that asks, and those that
   * wait for it already, since each would wait for the other. There is no longer circle: whom a call waits for has started
   * before it, or is one of the same owner.
   */
  idle(owner?: Owner, from = this.called): Promise<void> {
    return new Promise((resolve) => {
      const wait = { from, left: 1, resolve }
      const exempt = new Set([from, ...(from?.waits.map((other) => other.from) ?? [])])
      for (const run of owner?.running ?? this.#running) {
        if (exempt.has(run)) continue
        wait.left++
        run.waits.push(wait)
      }
      count(wait)
    })
  }
}

/** One less to wait for. */
function count(wait: Wait): void {
  if (--wait.left === 0) wait.resolve()
}
