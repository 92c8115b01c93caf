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
  // The next two are not there from the start: most calls are over as they return, and would be half again as large.
  /** When it has finished; there from its first `await` on. */
  declare done?: Promise<void>
  /** The calls that wait for it. */
  declare waiters?: Set<Run>

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
  readonly running = new Set<Run>()

  /**
   * Resolves when these have finished, but for the one that asks, and those that wait for it already, since each would wait
   * for the other. There is no longer circle: whom a call waits for has started before it, or is one of the same owner.
   */
  async idle(runs = this.running, from = this.called): Promise<void> {
    const others = [...runs].filter((run) => run !== from && !from?.waiters?.has(run))
    if (from) for (const run of others) run.waiters = (run.waiters ?? new Set()).add(from)
    await Promise.all(others.map((run) => run.done))
  }
}
