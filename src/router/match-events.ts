/** Patterns for events as a filter, and the index by which a bus finds the subscribers of such filters. */

import type { BusEvent, Filter, FilterIndex } from '../index.ts'
import { check } from '../internal/check.ts'
import { matches, NEXT, partsOf, type Segment, segmentsOf } from './pattern.ts'
import { Tree } from './tree.ts'

/** Which events: a pattern for each, and one that is left out matches all. */
export interface EventPattern<Type extends string = string> {
  readonly system?: string | undefined
  readonly type?: Type | undefined
  readonly path?: string | undefined
}

/** What the filters of this module carry: where they stand in the index. */
export interface PatternFilter extends Filter {
  readonly way: readonly Segment[]
  onFound: true | ((event: BusEvent) => boolean)
  onFull?: (event: BusEvent) => void
}

/**
 * A `filter` for `bus.subscribe`. An event without a system, or a path, matches only where that is left out or `**`.
 * A bus does not ask it of every event: it finds the subscribers of all such filters at the cost of those that match.
 * Throws `TypeError` naming the pattern, and the segment that is none.
 */
export function matchEvents(patterns: EventPattern = {}): (event: BusEvent) => boolean {
  return filterOf(wayOf(patterns))
}

/** A filter for what matches, whose subscriber may still refuse an event. */
export function filterOf(way: readonly Segment[], onFound: PatternFilter['onFound'] = true): PatternFilter {
  const filter = (event: BusEvent) => {
    const { system, type, path } = event
    const parts = [...partsOf(system), NEXT, ...partsOf(type), NEXT, ...partsOf(path)]
    return matches(way, parts) && (onFound === true || onFound(event))
  }
  return Object.assign(filter, { way, busIndex, onFound })
}

/** Throws `TypeError` naming the pattern. */
export function wayOf(patterns: EventPattern): Segment[] {
  const { system, type, path } = check('patterns', patterns, 'object')
  return [
    ...segmentsOf('system', system),
    NEXT,
    ...segmentsOf('type', type),
    NEXT,
    ...segmentsOf('path', path),
  ]
}

/** One for all buses, which tell by it what belongs together. */
function busIndex(): FilterIndex {
  const tree = new Tree<unknown>()
  return {
    add: (subscriber, filter) => tree.add((filter as PatternFilter).way, subscriber),
    delete: (subscriber, filter) => tree.delete((filter as PatternFilter).way, subscriber),
    find: (event) => tree.find(event),
  }
}
