/** An `AwaitService` on a bus, and the replies that it waits for. */

import type { EventBus, PublishInput } from '../../src/index.ts'
import { AwaitService } from '../../src/router/index.ts'
import { type BusOptions, observedBus } from './bus.ts'

export const RESPONSE = 'response.(accept|reject)'

export function service(options: BusOptions = {}) {
  const { bus, reports } = observedBus(options)
  return { bus, reports, service: new AwaitService(bus) }
}

export const reply = (bus: EventBus, path = 'p', more: Partial<PublishInput> = {}) =>
  bus.publish({ type: 'response.accept', path, ...more })
