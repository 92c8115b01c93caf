/** The options of the client's stream: checked at the door, every default filled in. */

import type { SseOptions } from '../client/options.ts'
import { checkOptions } from '../client/options.ts'
import { made } from '../client/request.ts'
import { option } from '../internal/check.ts'

/** Those of `connectSse` that make sense for a stream of several requests; each means what it means there. */
export interface AcpHttpStreamOptions
  extends Pick<
    SseOptions,
    | 'fetch'
    | 'credentials'
    | 'signal'
    | 'maxRetryMs'
    | 'maxRetries'
    | 'connectTimeoutMs'
    | 'idleTimeoutMs'
    | 'onRetry'
  > {
  /** Sent with every request, read once. */
  headers?: RequestInit['headers'] | undefined
  /** The first delay before a stream or a POST is tried again; default 1000, 0 = at once. */
  retryMs?: number | undefined
  /** Characters of one message; default 33,554,432. A larger one ends the stream. */
  maxBufferSize?: number | undefined
  /** Told of a message that cannot be read and is skipped. */
  onError?: ((error: Error) => void) | undefined
}

export type ClientSettings = ReturnType<typeof checkClientOptions>

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkClientOptions(options: AcpHttpStreamOptions) {
  const headers = option(options, 'headers', 'object')
  const { retryMs = 1000, maxBufferSize = 33_554_432 } = options
  const checked = checkOptions({ ...options, retryMs, maxBufferSize } as SseOptions)
  return {
    ...checked,
    fetch: option(options, 'fetch', 'function'),
    headers: [...made('headers', () => new Headers(headers))],
    credentials: option(options, 'credentials', 'string'),
  }
}
