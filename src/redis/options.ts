/** The options of a bus on Redis: checked at the door, every default filled in. */

import type { Diagnostic } from '../core/diagnostics.ts'
import { checkBusOptions, type EventBusOptions } from '../core/options.ts'
import { check, option, wrongType } from '../internal/check.ts'

/** What is needed of a node-redis client, 5 or later, made by `createClient`. */
export interface RedisClient {
  readonly options?: object | undefined
  duplicate(overrides?: object): RedisClient
  connect(): Promise<unknown>
  destroy(): void
  sendCommand(args: readonly string[], options?: object): Promise<unknown>
  // biome-ignore lint/suspicious/noExplicitAny: each event has arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown
}

/** What happens on a bus, and to its connection. */
export type RedisDiagnostic =
  | Diagnostic
  /** Redis cannot be reached: told once, and what needs no Redis goes on. */
  | { readonly type: 'backend_unavailable'; readonly error: unknown }
  /** It can be reached again. */
  | { readonly type: 'backend_available' }

/** Written as a method, so that a callback of `EventBus` will do. */
interface DiagnosticCallback {
  of(diagnostic: RedisDiagnostic): void
}

export interface RedisBusOptions extends Omit<EventBusOptions, 'epoch' | 'startAfterId' | 'onDiagnostic'> {
  /** As for `EventBus`, and told of the connection. */
  onDiagnostic?: DiagnosticCallback['of'] | undefined
  /**
   * A node-redis client. It is the model for the two connections that all buses of a process and server share, and may
   * itself be closed or busy: it is never written to.
   */
  client: RedisClient
  /** The stream's key, behind `prefix`. Buses of the same key on any node are one bus. */
  key: string
  /** What each key begins with, default nothing. */
  prefix?: string | undefined
  /**
   * Milliseconds that an idle stream outlives the last bus that had it open, and at least 3,000, within which open buses
   * renew it; default 0: it stays.
   */
  ttlMs?: number | undefined
  /** Milliseconds until what Redis did not confirm is rejected, default 10,000; 0 and `Infinity`: never. */
  timeoutMs?: number | undefined
}

export type CheckedRedisOptions = ReturnType<typeof checkRedisOptions>

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkRedisOptions(options: RedisBusOptions) {
  const client = check('client', check('options', options, 'object').client, 'object')
  if (typeof client.duplicate !== 'function') throw wrongType('client', 'a node-redis client', client)
  if (check('key', options.key, 'string') === '') throw new RangeError('key must not be empty')
  const { epoch, startAfterId, ...shared } = checkBusOptions({
    ...options,
    epoch: undefined,
    startAfterId: undefined,
  } as EventBusOptions)
  return {
    ...shared,
    client,
    key: option(options, 'prefix', 'string', '') + options.key,
    ttlMs: finite(option(options, 'ttlMs', 'number', 0, 0)),
    timeoutMs: option(options, 'timeoutMs', 'number', 10_000, 0) || Infinity,
  }
}

/** Redis knows no `Infinity`, nor what is too large for it: that and 0 are never. */
function finite(ms: number): number {
  return ms > Number.MAX_SAFE_INTEGER ? 0 : ms
}
