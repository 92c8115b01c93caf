/** Patterns for events as a filter, and the index by which a bus finds the subscribers of such filters. */

import type { BusEvent, BusIndex, Filter, FilterIndex } from '../index.ts'
import { check } from '../internal/check.ts'
import { MANY, type Matcher, matcherOf, parsed, type Segment } from './pattern.ts'
import { NEXT, Tree, type Way } from './tree.ts'

/** Which events: a pattern for each, and one that is left out matches all. */
export interface EventPattern<Type extends string = string> {
  readonly system?: string | undefined
  readonly type?: Type | undefined
  readonly path?: string | undefined
}

/** What the filters of this module carry: where they stand in the index. */
interface PatternFilter extends Filter {
  readonly way: Way
}

/** What a subscriber does with events that its patterns match, instead of just taking them. */
export type Route = Pick<BusIndex, 'accepts' | 'full'>

const ALL: readonly Segment[] = [MANY]
const TAKEN: Route = { accepts: () => true }

/**
 * A `filter` for `bus.subscribe`. An event without a system, or a path, matches only where that is left out or `**`.
 * A bus does not ask it of every event: it finds the subscribers of all such filters at the cost of those that match.
 * Throws `TypeError` naming the pattern, and the segment that is none.
 */
export function matchEvents(patterns: EventPattern = {}): (event: BusEvent) => boolean {
  return filterOf(patterns, TAKEN)
}

/** A filter that passes what its patterns match and the route accepts. */
export function filterOf(patterns: EventPattern, { accepts, full }: Route): Filter {
  const levels = levelsOf(patterns)
  const [system, type, path] = levels.map(({ match }) => match) as [Matcher, Matcher, Matcher]
  return Object.assign(
    (event: BusEvent) => system(event.system) && type(event.type) && path(event.path) && accepts(event),
    { way: wayOf(patterns), busIndex: { create, accepts, ...(full && { full }) } },
  )
}

interface Level {
  readonly segments: readonly Segment[]
  readonly match: Matcher
}

/** Throws `TypeError` naming the pattern. */
function levelsOf(patterns: EventPattern): Level[] {
  check('patterns', patterns, 'object')
  return (['system', 'type', 'path'] as const).map((name) => {
    const source = patterns[name]
    const segments = source === undefined ? ALL : parsed(name, source)
    return { segments, match: matcherOf(segments, source) }
  })
}

/** The way of an event's patterns through a tree. Throws `TypeError` naming the pattern. */
export function wayOf(patterns: EventPattern): Way {
  return levelsOf(patterns).flatMap<Way[number]>(({ segments }, level) =>
    level > 0 ? [NEXT, ...segments] : segments,
  )
}

/** One for all buses, which tell by it what belongs together. */
function create(): FilterIndex {
  const tree = new Tree<unknown>()
  return {
    add: (filter, subscriber) => tree.add((filter as PatternFilter).way, subscriber),
    delete: (filter, subscriber) => tree.delete((filter as PatternFilter).way, subscriber),
    find: ({ system, type, path }) => tree.find([system, type, path]),
  }
}
