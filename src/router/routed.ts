import type { BusEvent, BusLike, Subscription } from '../index.ts'
import { type EventPattern, filterOf } from './match-events.ts'

/**
 * A subscription that hands events on inside its filter, and takes none: one slot for any number of receivers, which
 * cannot fall behind. `over` is called once when it has ended, with an error where it failed.
 */
export function routed(
  bus: BusLike,
  patterns: EventPattern,
  route: (event: BusEvent) => void,
  over: (error?: unknown) => void,
): Subscription {
  const filter = filterOf(patterns, (event) => {
    route(event)
    return false
  })
  const subscription = bus.subscribe({ filter, warnings: false })
  // Control frames may still come.
  const watch = () => subscription.receive(({ done }) => (done ? over() : watch()), over)
  watch()
  return subscription
}
