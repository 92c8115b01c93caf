/**
 * What a filter may carry so that a bus finds the subscribers of an event instead of asking each of them. The bus knows
 * nothing of how: patterns, keys, or whatever else the filters of one kind have in common.
 */

import type { BusEvent } from './event.ts'

/** A filter that may carry an index. Wrapped into another function, it is a filter like any other. */
export interface Filter {
  (event: BusEvent): boolean
  readonly busIndex?: BusIndex
}

/**
 * A replay asks the filter itself. Of live events its subscriber is offered those only for which the index finds it; any
 * other counts as filtered.
 */
export interface BusIndex {
  /** Filters that carry the same function share one index on each bus. */
  readonly create: () => FilterIndex
  /** Asked of an event that the index found, in place of the filter. */
  readonly accepts: (event: BusEvent) => boolean
  /** Told of an event that does not fit, which then counts as filtered; without it, the subscriber is evicted. */
  readonly full?: (event: BusEvent) => void
}

/** Finds subscribers by their filters. Nothing here may throw. */
export interface FilterIndex {
  add(filter: Filter, subscriber: unknown): void
  delete(filter: Filter, subscriber: unknown): void
  /** Each subscriber that gets the event, once, in sets that may change while they are read. */
  find(event: BusEvent): Iterable<Iterable<unknown>>
}
