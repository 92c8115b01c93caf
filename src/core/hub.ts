/**
 * Who is subscribed, and the order in which things reach them.
 *
 * Filters and diagnostics are user code that may publish, close or unsubscribe. Whatever comes while an event is fanned
 * out waits its turn here, in a list and not on the stack: every subscriber sees increasing ids, and a chain of nested
 * publishes has no depth.
 */

import type { Diagnostic } from './diagnostics.ts'
import { SubscriberLimitExceededError } from './errors.ts'
import type { BusEvent, ControlFrame } from './event.ts'
import type { Filter, FilterIndex } from './filter-index.ts'
import type { BusSubscription } from './subscription.ts'

export class Hub {
  readonly subscribers = new Set<BusSubscription>()
  /** The last event that was offered to everybody whom it concerns. */
  fannedOut = 0
  readonly closeListeners = new Set<() => void>()
  readonly counts = { rejected: 0, evicted: 0, warned: 0, resyncs: 0 }
  /** Buffered frames of every stream, also of those that left, are no longer to be read. */
  discarded = false
  /** Those of the subscribers that are offered every event. */
  readonly #unindexed = new Set<BusSubscription>()
  /** The same, listed when an event comes and some joined or left: a walk over the set takes twice as long. */
  #listed: BusSubscription[] | undefined
  /** What finds the others, by what made it. */
  readonly #indexes = new Map<unknown, FilterIndex>()
  readonly #onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined
  /** What waits for its turn while something has it. */
  #waiting: (() => void)[] = []
  #busy = false

  constructor(onDiagnostic: ((diagnostic: Diagnostic) => void) | undefined) {
    this.#onDiagnostic = onDiagnostic
  }

  /** Lets one more subscriber in. Throws `SubscriberLimitExceededError` where there is no place. */
  admit(limit: number): void {
    if (this.subscribers.size < limit) return
    this.report({ type: 'subscriber_rejected', limit })
    throw new SubscriberLimitExceededError(limit)
  }

  /** Counts and reports an input that is no event. */
  reject(rejection: Diagnostic): undefined {
    this.counts.rejected++
    this.report(rejection)
  }

  /** Lets a subscriber join or leave; what has left already stays away. */
  place(how: 'add' | 'delete', subscriber: BusSubscription, filter: Filter | undefined): void {
    if (!this.subscribers[how](subscriber)) return
    const create = filter?.busIndex
    if (create) {
      const index = this.#indexes.get(create) ?? create()
      this.#indexes.set(create, index)
      index[how](subscriber, filter as Filter)
    } else {
      this.#unindexed[how](subscriber)
      this.#listed = undefined
    }
  }

  /** Gives an event to every subscriber that it concerns, behind what is being given already. */
  deliver(event: BusEvent, bytes: number): void {
    if (this.#busy) this.#waiting.push(() => this.#fanOut(event, bytes))
    // Nobody is there, as while every client is away: a tenth of a publish.
    else if (this.subscribers.size === 0) this.fannedOut = event.id
    else {
      this.#busy = true
      this.#fanOut(event, bytes)
      this.#settle()
    }
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
  announce(count: keyof Hub['counts'], { type, data }: ControlFrame): void {
    this.counts[count]++
    this.report({ type, data } as Diagnostic)
  }

  #fanOut(event: BusEvent, bytes: number): void {
    this.#listed ??= [...this.#unindexed]
    for (const subscriber of this.#listed) subscriber.offer(event, bytes)
    if (this.#indexes.size > 0) {
      for (const index of this.#indexes.values()) {
        for (const subscriber of index.find(event) as readonly BusSubscription[])
          subscriber.offer(event, bytes)
      }
    }
    this.fannedOut = event.id
  }

  /** Runs a task now, or behind what is going on. */
  #inTurn(task: () => void): void {
    this.#waiting.push(task)
    if (!this.#busy) this.#settle()
  }

  /** Works off what waits, and what that brings about. */
  #settle(): void {
    if (this.#waiting.length > 0) {
      this.#busy = true
      for (const task of this.#waiting) task()
      this.#waiting = []
    }
    this.#busy = false
  }
}
