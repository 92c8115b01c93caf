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

type Announced = SlowClientWarning | ClientEvicted | StateResyncRequired

export class Hub {
  readonly subscribers = new Set<BusSubscription>()
  /** How often each of these frames was given to a subscriber. */
  readonly announced = { slow_client_warning: 0, client_evicted: 0, state_resync_required: 0 }
  /** Buffered frames of every stream, also of those that left, are no longer to be read. */
  discarded = false
  readonly #onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined
  #later: (() => void)[] = []
  #busy = false

  constructor(onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined) {
    this.#onDiagnostic = onDiagnostic
  }

  /** Gives an event to every subscriber, behind what is being given already. */
  deliver(event: BusEvent, bytes: number): void {
    if (this.#busy) {
      this.#later.push(() => this.#fanOut(event, bytes))
      return
    }
    this.#busy = true
    this.#fanOut(event, bytes)
    this.#settle()
  }

  /** Tells the bus's owner, behind the fan-out that is under way. */
  report(diagnostic: Diagnostic): void {
    const onDiagnostic = this.#onDiagnostic
    if (onDiagnostic === undefined) return
    this.#inTurn(() => {
      try {
        onDiagnostic(diagnostic)
      } catch {
        // There is nobody left to tell: the callback that threw is the one that would be told.
      }
    })
  }

  /** Counts and reports a frame that a subscriber is given. */
  announce({ type, data }: Announced): void {
    this.announced[type]++
    this.report({ type, data } as Diagnostic)
  }

  /** Ends every subscription, once what was published before has reached it. */
  finish(): void {
    this.#inTurn(() => this.#finishAll(true))
  }

  /** Ends every subscription at once, and drops what is buffered anywhere. */
  discard(): void {
    this.discarded = true
    this.#finishAll(false)
  }

  /** A user's filter: one that throws is reported and counts as false. */
  ask(filter: (event: BusEvent) => boolean, event: BusEvent): boolean {
    try {
      return Boolean(filter(event))
    } catch (error) {
      this.report({ type: 'callback_error', error })
      return false
    }
  }

  #fanOut(event: BusEvent, bytes: number): void {
    for (const subscriber of this.subscribers) subscriber.offer(event, bytes)
  }

  #finishAll(drain: boolean): void {
    for (const subscriber of this.subscribers) subscriber.close({ drain })
  }

  #inTurn(task: () => void): void {
    this.#later.push(task)
    if (!this.#busy) this.#settle()
  }

  /** Works off what has come meanwhile, and what comes meanwhile to that. */
  #settle(): void {
    if (this.#later.length > 0) {
      this.#busy = true
      for (const task of this.#later) task()
      this.#later = []
    }
    this.#busy = false
  }
}
