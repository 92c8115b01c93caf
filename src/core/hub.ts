/**
 * Who is subscribed, and the order in which things reach them.
 *
 * Filters and diagnostics are user code that may publish, close or unsubscribe. Whatever comes while an event is fanned
 * out waits its turn here, in a list and not on the stack: every subscriber sees increasing ids, and a chain of nested
 * publishes has no depth.
 */

import type { Diagnostic } from './diagnostics.ts'
import type { BusEvent, ClientEvicted, SlowClientWarning, StateResyncRequired } from './event.ts'
import type { BusSubscription } from './subscription.ts'

export class Hub {
  readonly subscribers = new Set<BusSubscription>()
  readonly closeListeners = new Set<() => void>()
  readonly counts = { evicted: 0, warned: 0, resyncs: 0 }
  /** Buffered frames of every stream, also of those that left, are no longer to be read. */
  discarded = false
  readonly #onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined
  #tasks: (() => void)[] = []

  constructor(onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined) {
    this.#onDiagnostic = onDiagnostic
  }

  /** Gives an event to every subscriber, behind what is being given already. */
  deliver(event: BusEvent, bytes: number): void {
    this.#inTurn(() => {
      for (const subscriber of this.subscribers) subscriber.offer(event, bytes)
    })
  }

  /** Ends every subscription: without `drain` at once, else when what was published before has reached it. */
  finish(drain: boolean): void {
    const closeAll = () => {
      for (const subscriber of this.subscribers) subscriber.close({ drain })
    }
    if (drain) this.#inTurn(closeAll)
    else {
      this.discarded = true
      closeAll()
    }
  }

  /** Tells the bus's owner, behind the fan-out that is under way. */
  report(diagnostic: Diagnostic): void {
    this.#inTurn(() => {
      try {
        this.#onDiagnostic?.(diagnostic)
      } catch {
        // There is nobody left to tell: the callback that threw is the one that would be told.
      }
    })
  }

  /** Counts and reports a frame that a subscriber is given. */
  announce(
    count: keyof Hub['counts'],
    { type, data }: SlowClientWarning | ClientEvicted | StateResyncRequired,
  ): void {
    this.counts[count]++
    this.report({ type, data } as Diagnostic)
  }

  /** A user's filter: one that throws is reported and counts as false. */
  ask(filter: (event: BusEvent) => boolean, event: BusEvent): boolean {
    try {
      return filter(event)
    } catch (error) {
      this.report({ type: 'callback_error', error })
      return false
    }
  }

  /** Runs a task now, or behind those that are running: also those that they bring about. */
  #inTurn(task: () => void): void {
    if (this.#tasks.push(task) > 1) return
    for (const next of this.#tasks) next()
    this.#tasks = []
  }
}
