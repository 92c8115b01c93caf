/**
 * What a filter may carry so that a bus finds the subscribers of an event instead of asking each of them. The bus knows
 * nothing of how: patterns, keys, or whatever else the filters of one kind have in common.
 */

import type { BusEvent } from './event.ts'

/**
 * A filter, which may carry an index. A replay asks the filter itself; of live events its subscriber is offered those only
 * for which the index finds it, and any other counts as filtered. Wrapped into another function, it is one like any other.
 */
export interface Filter {
  (event: BusEvent): boolean
  /** Makes an index. Filters that carry the same function share one on each bus. */
  readonly busIndex?: () => FilterIndex
  /** Asked of an event that the index found, in place of the filter; `true` where nobody need be asked. */
  readonly onFound?: true | ((event: BusEvent) => boolean)
  /** Told of an event that does not fit, which then counts as filtered; without it, the subscriber is evicted. */
  readonly onFull?: (event: BusEvent) => void
}

/** Finds subscribers by their filters. Nothing here may throw. */
export interface FilterIndex {
  add(subscriber: unknown, filter: Filter): void
  delete(subscriber: unknown, filter: Filter): void
  /** Each subscriber that gets the event, once. Does not change what it gave before. */
  find(event: BusEvent): readonly unknown[]
}
