/**
 * The bus of `resumable-bus`, shared by several processes on a Redis Stream (Redis ≥ 7, one server or its replica; not
 * Redis Cluster). Needs `redis` (node-redis) ≥ 5 beside it.
 */

import type { AnyEvents, EventMap } from '../core/event.ts'
import { after } from '../internal/timer.ts'
import { RedisBus } from './bus.ts'
import { BackendUnavailableError } from './errors.ts'
import { codeOf, Link } from './link.ts'
import { checkRedisOptions, type RedisBusOptions } from './options.ts'
import { StreamTail } from './tail.ts'

export type { RedisBus } from './bus.ts'
export { BackendUnavailableError } from './errors.ts'
export type { RedisBusOptions, RedisClient, RedisDiagnostic } from './options.ts'

/**
 * Opens the bus of a key, which it creates where it is not there. All buses of a process and server share two connections
 * of their own; the client given is their model and is not used itself.
 *
 * Rejects with `TypeError` or `RangeError` naming a bad option, with `BackendUnavailableError` (`code:
 * 'backend_unavailable'`) when Redis cannot be reached within `timeoutMs`, and with Redis's own error where the key holds
 * something else; then nothing is held.
 */
export async function createRedisBus<Events extends EventMap<Events> = AnyEvents>(
  options: RedisBusOptions,
): Promise<RedisBus<Events>> {
  const checked = checkRedisOptions(options)
  const link = Link.to(checked.client)
  const tail = new StreamTail(checked, link)
  const { timeoutMs } = checked
  const stop = after(timeoutMs, () => tail.close(), 'awaited')
  try {
    await tail.open()
  } catch (error) {
    throw codeOf(error) === 'WRONGTYPE'
      ? error
      : new BackendUnavailableError('createRedisBus', timeoutMs, error)
  } finally {
    stop()
  }
  return new RedisBus<Events>(checked, link, tail)
}
