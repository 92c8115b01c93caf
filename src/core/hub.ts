/**
 * Who is subscribed, and the order in which things reach them.
 *
 * Filters and diagnostics are user code that may publish, close or unsubscribe. Whatever comes while an event is fanned
 * out waits its turn here, in a list and not on the stack: every subscriber sees increasing ids, and a chain of nested
 * publishes has no depth.
 */

import type { Diagnostic } from './diagnostics.ts'
import type { BusEvent, StateResyncRequired } from './event.ts'
import type { BusSubscription } from './subscription.ts'

export class Hub {
  readonly subscribers = new Set<BusSubscription>()
  evicted = 0
  warned = 0
  resyncs = 0
  /** Buffered frames of every stream, also of those that left, are no longer to be read. */
  discarded = false
  readonly #onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined
  #events: { event: BusEvent; bytes: number }[] = []
  #diagnostics: Diagnostic[] = []
  #finishing = false
  #busy = false

  constructor(onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined) {
    this.#onDiagnostic = onDiagnostic
  }

  /** Gives an event to every subscriber, behind what is being given already. */
  deliver(event: BusEvent, bytes: number): void {
    if (this.#busy) {
      this.#events.push({ event, bytes })
      return
    }
    this.#busy = true
    this.#fanOut(event, bytes)
    this.#settle()
  }

  /** Tells the bus's owner, behind the fan-out that is under way. */
  report(diagnostic: Diagnostic): void {
    if (this.#onDiagnostic === undefined) return
    this.#diagnostics.push(diagnostic)
    if (!this.#busy) this.#settle()
  }

  /** Notes that a stream is told of lost events. */
  resynced(frame: StateResyncRequired): void {
    this.resyncs++
    this.report({ type: 'state_resync_required', data: frame.data })
  }

  /** Ends every subscription, once what was published before has reached it. */
  finish(): void {
    this.#finishing = true
    if (!this.#busy) this.#settle()
  }

  /** Ends every subscription at once, and drops what is buffered anywhere. */
  discard(): void {
    this.discarded = true
    for (const subscriber of this.subscribers) subscriber.finish(false)
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

  /** Works off what has come meanwhile: events first, then diagnostics, then the end. */
  #settle(): void {
    this.#busy = true
    while (this.#events.length + this.#diagnostics.length > 0 || this.#finishing) {
      if (this.#events.length > 0) {
        const events = this.#events
        this.#events = []
        for (const { event, bytes } of events) this.#fanOut(event, bytes)
      } else if (this.#diagnostics.length > 0) {
        const diagnostics = this.#diagnostics
        this.#diagnostics = []
        for (const diagnostic of diagnostics) this.#tell(diagnostic)
      } else {
        this.#finishing = false
        for (const subscriber of this.subscribers) subscriber.finish(true)
      }
    }
    this.#busy = false
  }

  #tell(diagnostic: Diagnostic): void {
    try {
      this.#onDiagnostic?.(diagnostic)
    } catch {
      // There is nobody left to tell: the callback that threw is the one that would be told.
    }
  }
}
