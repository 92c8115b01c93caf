/** Buses to test, and what tells whether anything of a subscription is left. */

import { getEventListeners } from 'node:events'
import { type Diagnostic, EventBus } from '../../src/index.ts'
import { EPOCH } from './frames.ts'

export type BusOptions = NonNullable<ConstructorParameters<typeof EventBus>[0]>

/** Publishes `count` events of type `tick` whose `data` is their own number, and returns their ids. */
export function publish(bus: EventBus, count: number): number[] {
  const ids: number[] = []
  for (let i = 0; i < count; i++) {
    const event = bus.publish({ type: 'tick', data: bus.lastEventId + 1 })
    if (event === undefined) throw new Error(`the bus refused a plain event after ${bus.lastEventId}`)
    ids.push(event.id)
  }
  return ids
}

/** A bus named `EPOCH` that has published 1..count. */
export function busWith(count: number, options: BusOptions = {}): EventBus {
  const bus = new EventBus({ epoch: EPOCH, ...options })
  publish(bus, count)
  return bus
}

/** A bus named `EPOCH` and everything that it reports. */
export function observedBus(options: BusOptions = {}): { bus: EventBus; reports: Diagnostic[] } {
  const reports: Diagnostic[] = []
  const bus = new EventBus({ epoch: EPOCH, onDiagnostic: (report) => reports.push(report), ...options })
  return { bus, reports }
}

/** UTF-8 bytes of an event's envelope as JSON: the contract's measure, taken with the tools of Node. */
export function sizeOf(event: { data?: unknown; [key: string]: unknown }): number {
  return Buffer.byteLength(JSON.stringify({ ...event, data: event.data ?? null }), 'utf8')
}

/** An event whose envelope is `bytes` long when published with the given id. */
export function eventOfSize(bytes: number, id: number): { type: string; data: string } {
  const empty = sizeOf({ id, v: 1, type: 'sized', data: '' })
  if (bytes < empty) throw new Error(`an envelope takes ${empty} bytes at least`)
  return { type: 'sized', data: 'x'.repeat(bytes - empty) }
}

/** Publishes one event whose envelope is exactly `bytes` long. */
export function publishBytes(bus: EventBus, bytes: number): number {
  const event = bus.publish(eventOfSize(bytes, bus.lastEventId + 1))
  if (event === undefined) throw new Error('the bus refused a plain event')
  return event.id
}

/** Timers that keep something waiting now; compare with an earlier count, the test runner has its own. */
export function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'Immediate').length
}

export function abortListeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}
