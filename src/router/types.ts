/** How a bus's event map reaches the handlers. */

import type { BusEvent } from '../index.ts'

export type { EventIn } from '../core/bus-like.ts'

/** Those of a type: one of them where the pattern is a literal that the bus's event map has, else any. */
export type Matched<Event extends BusEvent, Type> = string extends Event['type']
  ? Event
  : Type extends `${string}${'*' | '('}${string}`
    ? // It may be of a template's kind, and match more: `job.**` is a `job.${string}`, and matches `job`.
      Event
    : Type extends Event['type']
      ? OfType<Event, Type>
      : Event

/** Not `Extract`: a key of the map may be a template, whose events have more types than the one. */
type OfType<Event extends BusEvent, Type> = Event extends unknown
  ? Type extends Event['type']
    ? Event
    : never
  : never
