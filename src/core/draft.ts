/**
 * From what a publisher gave to an event: everything but the id, which is taken last. Getters and `toJSON` are user code
 * that may publish or close the bus, so they run here, before the event has a place in the order.
 */

import { keysBehindData, measure, stamp } from '../internal/kept.ts'
import type { RejectionReason } from './diagnostics.ts'
import { type BusEvent, EVENT_SCHEMA_VERSION, isReservedType } from './event.ts'

/** An event that has no id yet, and is not frozen. */
export type Draft = { -readonly [Key in keyof BusEvent]: BusEvent[Key] }

// What the `event:` line of a stream can carry.
const ONE_LINE = /^[^\r\n\0]+$/

/** Why an input is no event, with its type where that is a valid one. */
export class Rejection {
  readonly type = 'event_rejected'
  readonly reason: RejectionReason
  readonly eventType?: string

  constructor(reason: RejectionReason, eventType?: string) {
    this.reason = reason
    if (eventType) this.eventType = eventType
  }
}

/** Reads each key of the input. With `measured`, its JSON is made and measured. */
export function draftOf(input: unknown, measured: boolean): Draft | Rejection {
  let reason: RejectionReason = 'invalid_input'
  let eventType: string | undefined
  try {
    const { type } = input as Draft
    if (typeof input !== 'object') return new Rejection(reason)
    if (typeof type !== 'string' || !ONE_LINE.test(type)) return new Rejection('invalid_type')
    if (isReservedType(type)) return new Rejection('reserved_type', type)
    eventType = type
    const event = copyOf(input as Draft, type)
    stamp(event)
    reason = 'not_serialisable'
    if (measured) measure(event)
    return event
  } catch {
    return new Rejection(reason, eventType)
  }
}

function copyOf(input: Draft, type: string): Draft {
  const event: Draft = { id: 0, v: EVENT_SCHEMA_VERSION, type, data: input.data }
  for (const key of keysBehindData(input)) {
    const value = input[key]
    // Assigned, `__proto__` would change what the event inherits.
    if (key === '__proto__') Object.defineProperty(event, key, { value, enumerable: true })
    else if (value !== undefined) event[key] = value
  }
  return event
}
