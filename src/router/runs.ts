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
  end(): void
}

/** One call of a handler. */
export class Run implements HandlerContext {
  readonly owner: Owner
  readonly event: BusEvent
  // The next two are not there from the start: most calls are over as they return, and would be half again as large.
  /** When it has finished; there from its first `await` on. */
  declare done?: Promise<void>
  /** Its place among those that asked for the others to finish, by its first asking. */
  declare asked?: number | undefined

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
  readonly #left: (() => void) | undefined
  readonly running = new Set<Run>()
  /** `asked` of the call that has not come to its first `await`: whoever asks then is that one. */
  asked: number | undefined
  #asks = 0

  /** Calls back when the last owner has ended. */
  constructor(left?: () => void) {
    this.#left = left
  }

  leave(owner: Owner): void {
    this.owners.delete(owner)
    if (this.owners.size === 0) this.#left?.()
  }

  /**
   * Resolves when these have finished, but for the one that asks, and those that asked before it did and so wait for it: by
   * the first asking their owner was closed, and no call of it is newer. There is no longer circle: whom a call waits for has
   * started before it, or is one of the same owner. For one that is over nobody waits, whoever asks in its name.
   *
   * Who asks before its first `await` is the first in any case: what it does then may have made an older one ask.
   */
  async idle(runs = this.running, from?: Run): Promise<void> {
    const asker = from ?? this
    asker.asked ??= runs.has(from as Run) ? ++this.#asks : 0
    // One after the other: all at once would be a promise for each pair of those that close their subscriber.
    for (const run of [...runs]) {
      const waits = (run.asked as number) < asker.asked && runs.has(from as Run)
      if (!waits && run !== from && runs.has(run)) await run.done
    }
  }
}
