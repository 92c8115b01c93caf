/**
 * From what a publisher gave to an event: everything but the id, which is taken last. Getters and `toJSON` are user code
 * that may publish or close the bus, so they run here, before the event has a place in the order.
 */

import { envelopeJson, keysBehindData, stamp } from '../internal/kept.ts'
import type { Diagnostic, RejectionReason } from './diagnostics.ts'
import { type BusEvent, EVENT_SCHEMA_VERSION, isReservedType } from './event.ts'

/** An event that has no id yet, and is not frozen. */
export type Draft = { -readonly [Key in keyof BusEvent]: BusEvent[Key] }

export type Rejection = Extract<Diagnostic, { type: 'event_rejected' }> & { readonly id?: undefined }

// What the `event:` line of a stream can carry.
const ONE_LINE = /^[^\r\n\0]+$/

// Most publishers use few types: the last one that was found good need not be looked at again.
let accepted: unknown = ONE_LINE

/** Reads each key of the input. With `measured`, its JSON is made. */
export function draftOf(input: unknown, measured: boolean): Draft | Rejection {
  const read = readInput(input)
  if (read.id === undefined) return read
  // Not within a `try`, where the compiler does not see through `super`: a publish would take a fifth longer.
  const draft = stamp(read)
  try {
    if (measured) envelopeJson(draft)
    return draft
  } catch {
    return rejection('not_serialisable', draft.type)
  }
}

function readInput(input: unknown): Draft | Rejection {
  let eventType: string | undefined
  try {
    const { type, data } = input as Draft
    if (typeof input !== 'object') return rejection('invalid_input')
    if (type !== accepted) {
      if (typeof type !== 'string' || !ONE_LINE.test(type)) return rejection('invalid_type')
      if (isReservedType(type)) return rejection('reserved_type', type)
      accepted = type
    }
    eventType = type
    // The spread of nothing is not for nothing: it leaves the object a slot, where the stamp goes. Put elsewhere, each event
    // would be two objects to the collector.
    return { id: 0, v: EVENT_SCHEMA_VERSION, type, data, ...restOf(input as Draft) }
  } catch {
    // A getter: user code that cannot say why.
    return rejection('invalid_input', eventType)
  }
}

/** Why an input is no event, with its type where that is a valid one. */
export function rejection(reason: RejectionReason, eventType?: string): Rejection {
  return { type: 'event_rejected', reason, ...(eventType !== undefined && { eventType }) }
}

/** In what inherits nothing, `__proto__` is a key like any other; without a prototype at all, it would be four times as slow. */
// biome-ignore lint/complexity/useArrowFunction: an arrow function is no constructor.
const Rest = function () {} as unknown as new () => Record<string, unknown>
Rest.prototype = Object.create(null)

/** The keys behind `data` that have a value; undefined where there are none. */
function restOf(input: Draft): Record<string, unknown> | undefined {
  // Cheaper than a list of the keys, and most inputs have no others.
  for (const key in input) {
    if (key === 'type' || key === 'data') continue
    const rest = new Rest()
    for (const behind of keysBehindData(input)) {
      const value = input[behind]
      if (value !== undefined) rest[behind] = value
    }
    return rest
  }
  return undefined
}
