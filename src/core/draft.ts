/**
 * From what a publisher gave to an event: everything but the id, which is taken last. Getters and `toJSON` are user code
 * that may publish or close the bus, so they run here, before the event has a place in the order.
 */

import { envelopeJson, keptOf, keysBehindData, stamp, utf8 } from '../internal/kept.ts'
import type { RejectionReason } from './diagnostics.ts'
import { type BusEvent, EVENT_SCHEMA_VERSION, isReservedType } from './event.ts'

/** An event that has no id yet, and is not frozen. */
export type Draft = { -readonly [Key in keyof BusEvent]: BusEvent[Key] }

// What the `event:` line of a stream cannot carry.
const LINE_BREAKING = /[\r\n\0]/

/** Why an input is no event, with its type where that is a valid one. */
export class Rejection {
  readonly reason: RejectionReason
  readonly eventType: string | undefined

  constructor(reason: RejectionReason, eventType?: string) {
    this.reason = reason
    this.eventType = eventType
  }
}

/** Reads each key of the input once. With `measured`, its JSON is made and measured. */
export function draftOf(input: unknown, measured: boolean): Draft | Rejection {
  if (typeof input !== 'object' || input === null) return new Rejection('not_an_object')
  let eventType: string | undefined
  let event: Draft
  try {
    const { type } = input as Draft
    if (typeof type !== 'string' || type === '' || LINE_BREAKING.test(type)) {
      return new Rejection('invalid_type')
    }
    eventType = type
    if (isReservedType(type)) return new Rejection('reserved_type', type)
    event = copyOf(input as Draft, type)
  } catch {
    return new Rejection('input_threw', eventType)
  }
  stamp(event)
  if (!measured) return event
  try {
    const kept = keptOf(event)
    // Without the one digit of the id that it has not got yet.
    kept.bytes = utf8(envelopeJson(event, kept)).length - 1
    return event
  } catch {
    return new Rejection('not_serialisable', eventType)
  }
}

/** Gives a draft its id: from here on it is an event, and what it says no longer changes. */
export function sealDraft(event: Draft, id: number, measured: boolean): BusEvent {
  event.id = id
  if (measured) keptOf(event).bytes += String(id).length
  return Object.freeze(event) as BusEvent
}

function copyOf(input: Draft, type: string): Draft {
  const event: Draft = { id: 0, v: EVENT_SCHEMA_VERSION, type, data: input.data }
  for (const key of keysBehindData(input)) {
    const value = input[key]
    if (value === undefined) continue
    // Assigned, `__proto__` would change what the event inherits.
    if (key === '__proto__') Object.defineProperty(event, key, { value, enumerable: true })
    else event[key] = value
  }
  return event
}
