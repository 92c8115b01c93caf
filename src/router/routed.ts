import type { BusEvent, Filter, Subscription } from '../index.ts'
import { filterOf } from './match-events.ts'
import type { Segment } from './pattern.ts'

/**
 * A filter that hands on what matches, and takes nothing: one slot for any number of receivers, which cannot fall behind.
 */
export function routing(way: readonly Segment[], route: (event: BusEvent) => void): Filter {
  return filterOf(way, (event) => {
    route(event)
    return false
  })
}

/** Calls back when a subscription that takes no events is over, with an error where it failed. */
export function onEnd(subscription: Subscription, over: (error?: unknown) => void): void {
  // Control frames may still come.
  const watch = () => subscription.receive(({ done }) => (done ? over() : watch()), over)
  watch()
}
