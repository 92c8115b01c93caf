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
  let reason: RejectionReason = 'invalid_input'
  let eventType: string | undefined
  try {
    const { type, data } = input as Draft
    if (typeof input !== 'object') return rejection(reason)
    if (type !== accepted) {
      if (typeof type !== 'string' || !ONE_LINE.test(type)) return rejection('invalid_type')
      if (isReservedType(type)) return rejection('reserved_type', type)
      accepted = type
    }
    eventType = type
    const event = stamp<Draft>({ id: 0, v: EVENT_SCHEMA_VERSION, type, data })
    copyRest(input as Draft, event)
    reason = 'not_serialisable'
    if (measured) envelopeJson(event)
    return event
  } catch {
    // A getter, or `toJSON`: user code that cannot say why.
    return rejection(reason, eventType)
  }
}

/** Why an input is no event, with its type where that is a valid one. */
export function rejection(reason: RejectionReason, eventType?: string): Rejection {
  return { type: 'event_rejected', reason, ...(eventType !== undefined && { eventType }) }
}

function copyRest(input: Draft, event: Draft): void {
  // Cheaper than a list of the keys, and most inputs have no others.
  for (const key in input) {
    if (key === 'type' || key === 'data') continue
    for (const behind of keysBehindData(input)) {
      const value = input[behind]
      if (value !== undefined) define(event, behind, value)
    }
    return
  }
}

function define(event: Draft, key: string, value: unknown): void {
  // Assigned, `__proto__` would change what the event inherits.
  if (key === '__proto__') Object.defineProperty(event, key, { value, enumerable: true })
  else event[key] = value
}
