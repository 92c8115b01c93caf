/** What both readers are given and what they tell, and the options checked at the door. */

import { checkSignal, option } from '../internal/check.ts'
import type { SseHttpError } from './errors.ts'

/** One block of an event stream, as a page's `EventSource` would hand it out. */
export interface SseBlock {
  /** What the block's own `id:` line held; left out where it had none. */
  readonly id?: string
  /** `message` where the block names none. */
  readonly event: string
  readonly data: string
  /** The last id of the stream up to this block, its own included: resuming from it leaves no gap. */
  readonly cursor: string | undefined
}

/** A connection was opened. */
export interface SseOpen {
  /** Where the response came from, behind redirects. */
  readonly url: string
  readonly headers: Headers
  /** What was sent as the last event id. */
  readonly cursor: string | undefined
}

/** A connection was lost, or none was made, and another one will be. */
export interface SseRetry {
  /** 1, 2, 3 … since the last progress. */
  readonly attempt: number
  /** Milliseconds until the next request. */
  readonly delayMs: number
  /**
   * An {@link SseHttpError} for a refusal, the server's own words (with their `code`) for a `stream_error`, what `fetch`
   * or the body failed with for the rest. Undefined where the body ended, as some hosts' bodies do when they are torn.
   */
  readonly error: unknown
}

export interface SseOptions {
  /** Default: the platform's. Called as `fetch(url, init)`, for every connection. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Default `GET`, or `POST` where there is a body. */
  method?: string | undefined
  /**
   * Read once. A `Last-Event-ID` among them is where the stream starts unless `lastEventId` says otherwise, and is replaced
   * as the stream moves on. `Accept: text/event-stream` is added where there is no `Accept`.
   */
  headers?: RequestInit['headers'] | undefined
  /** Sent anew with each connection; so no stream, which could be sent once only. */
  body?: Exclude<RequestInit['body'], null | ReadableStream> | undefined
  credentials?: RequestInit['credentials'] | undefined
  /** Where to start: a cursor of an earlier stream, or an integer ≥ 0. One line without NUL. */
  lastEventId?: number | string | undefined
  /**
   * The query parameter that carries the cursor, replaced or added. Default: the `Last-Event-ID` header, which costs a
   * request to another origin a preflight.
   */
  cursorParam?: string | undefined
  /** Ends the stream at once, as done, and drops what was not read. */
  signal?: AbortSignal | undefined
  /** The first delay, until the server says otherwise (`retry:`); default 3000, 0 = at once. */
  retryMs?: number | undefined
  /** No delay is longer, but one that the server asks for with `Retry-After`; default 30000. */
  maxRetryMs?: number | undefined
  /** Reconnects in a row without progress; default `Infinity`. */
  maxRetries?: number | undefined
  /** Until the head of a response; default 10000, 0 = no limit. */
  connectTimeoutMs?: number | undefined
  /** How long a connection may bring nothing at all, comments included; default 0 = for ever. */
  idleTimeoutMs?: number | undefined
  /** After `client_evicted`: reconnect from the last id (default), or end as done. */
  onEvicted?: 'resume' | 'end' | undefined
  /** Characters of one block's data; default 1,048,576. A larger one rejects: it would come again with each connection. */
  maxBufferSize?: number | undefined
  /** Told of each connection, before its first block. */
  onOpen?: ((open: SseOpen) => void) | undefined
  /** Told before each delay. */
  onRetry?: ((retry: SseRetry) => void) | undefined
  /** Told of a block that cannot be read and is skipped; `connectBus` only. The cursor moves. */
  onError?: ((error: Error, block: SseBlock) => void) | undefined
}

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkOptions(options: SseOptions) {
  const ms = (
    name: 'retryMs' | 'maxRetryMs' | 'connectTimeoutMs' | 'idleTimeoutMs' | 'maxRetries',
    fallback: number,
  ) => option(options, name, 'number', fallback, 0)
  const call = <Name extends 'onOpen' | 'onRetry' | 'onError'>(name: Name) =>
    option(options, name, 'function')
  const { signal } = options
  checkSignal(signal)
  const onEvicted = option(options, 'onEvicted', 'string', 'resume')
  if (!/^(resume|end)$/.test(onEvicted)) throw new RangeError("onEvicted must be 'resume' or 'end'")
  return {
    signal,
    onEvicted,
    retryMs: ms('retryMs', 3000),
    maxRetryMs: ms('maxRetryMs', 30_000),
    maxRetries: ms('maxRetries', Infinity),
    connectTimeoutMs: ms('connectTimeoutMs', 10_000) || Infinity,
    idleTimeoutMs: ms('idleTimeoutMs', 0) || Infinity,
    maxBufferSize: option(options, 'maxBufferSize', 'number', 1_048_576),
    onOpen: call('onOpen'),
    onRetry: call('onRetry'),
    onError: call('onError'),
  }
}
