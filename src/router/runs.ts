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
export interface Owner {
  readonly signal: AbortSignal
  close(from?: Run): Promise<void>
  end(): void
}

/** One call of a handler. */
export class Run implements HandlerContext {
  readonly owner: Owner
  readonly event: BusEvent
  // The next two are not there from the start: most calls are over as they return, and would be half again as large.
  /** When it has finished; there from its first `await` on. */
  declare done?: Promise<void>
  /** The calls that it waits for, or waited. */
  declare awaits?: ReadonlySet<Run> | undefined

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
  /** Those that have not ended. */
  readonly owners = new Set<Owner>()
  /**
   * The id of the event whose handler is being called and has not come to its first `await`; 0 while none is: whoever acts
   * now is that call. The call itself, written here for each event, would be a seventh of a delivery to the collector.
   */
  calling = 0
  /** What that call waits for. */
  awaits: ReadonlySet<Run> | undefined
  readonly running = new Set<Run>()

  /**
   * Resolves when these have finished, but for the one that asks, and those that wait for it already, since each would wait
   * for the other. There is no longer circle: whom a call waits for has started before it, or is one of the same owner.
   */
  async idle(runs = this.running, from?: Run): Promise<void> {
    const others = [...runs].filter((run) => run !== from && !run.awaits?.has(from as Run))
    const asker = from ?? this
    if (from || this.calling) asker.awaits = new Set([...(asker.awaits ?? []), ...others])
    await Promise.all(others.map((run) => run.done))
  }
}
