/** The options of an SSE stream: checked before anything is sent, every default filled in. */

import type { AnyEvents, Frame, SubscribeOptions } from '../index.ts'
import { check, option, wrongType } from '../internal/check.ts'
import type { EndReason } from '../internal/pump.ts'
import type { Cursor } from '../last-event-id/index.ts'

export interface StreamOpened {
  /** The cursor that the client brought, if it was a valid one. */
  readonly cursor: Cursor | undefined
  /** It brought one, and the stream goes on from there. */
  readonly resumed: boolean
}

export interface StreamClosed {
  readonly reason: EndReason
  /** Events and control frames written. */
  readonly frames: number
  /** Bytes of the body written, heartbeats included. */
  readonly bytes: number
  /** The last id written, in an event or a cursor block. */
  readonly lastId: number | undefined
}

/** Options of both `sseResponse` and `serveSse`: those of `subscribe` but the cursor, which the client brings. */
export interface SseStreamOptions<Events = AnyEvents>
  extends Omit<SubscribeOptions<Events>, 'lastEventId' | 'epoch'> {
  /** Ends this stream. An abort reason `{ code, error }` of two strings is written as `stream_error`. */
  signal?: AbortSignal | undefined
  /** `'epoch'` (default) writes `id: <epoch>:<id>`, which survives a restart of the bus; `'id'` the bare id. */
  cursor?: 'epoch' | 'id' | undefined
  /** `'envelope'` (default): the whole frame as JSON; `'payload'`: its `data` alone. */
  data?: 'envelope' | 'payload' | undefined
  /** Whether events have an `event:` line; default true for `'envelope'`, false for `'payload'`. */
  event?: boolean | undefined
  /** An idle stream gets a heartbeat every so many milliseconds, default 8000; 0 = none. */
  heartbeatMs?: number | undefined
  /** The heartbeat as an event of that name, with `{}` for data and no id; default a comment. */
  heartbeatEvent?: string | undefined
  /** The `retry:` of the stream in milliseconds, default 3000, or drawn from `[min, max]`; 0 = no such line. */
  retryMs?: number | readonly [number, number] | undefined
  /** Bytes on their way without progress for so many milliseconds destroy the stream; default 30,000, 0 = never. */
  stallTimeoutMs?: number | undefined
  /** How long a client may take to read the rest when the bus closes; default 500 ms, 0 = destroyed at once. */
  closeTimeoutMs?: number | undefined
  /** Further headers of the response. `TypeError` for those that belong to the connection. */
  headers?: Record<string, string> | Headers | undefined
  /** A frame as one block of text, or undefined to leave it out. Asked once per event, function and epoch. */
  format?: ((frame: Frame<Events>) => string | undefined) | undefined
  /** The query parameter that may hold the cursor where the header is missing; default `lastEventId`. */
  lastEventIdParam?: string | undefined
  /** A query parameter that may set `maxQueued`, from 16 to 2048; default none. Other values are answered 400. */
  maxQueuedParam?: string | undefined
  /** At the subscriber limit: `'frame'` (default) is a stream with one `stream_error`; `'status'` is 503. */
  onLimit?: 'frame' | 'status' | undefined
  /** The head and the opening were written. What it throws is reported as `callback_error`. */
  onOpen?: ((opened: StreamOpened) => void) | undefined
  /** The stream is over; once per response. What it throws is reported as `callback_error`. */
  onClose?: ((closed: StreamClosed) => void) | undefined
}

const SECOND = 1000

/** A comment: no client shows it, and no cursor moves. */
export const HEARTBEAT = ': heartbeat\n\n'

/** How a stream is kept alive and how long it is waited for: shared by every kind of stream. */
export interface TimeOptions {
  heartbeatMs?: number | undefined
  retryMs?: number | readonly [number, number] | undefined
  stallTimeoutMs?: number | undefined
  headers?: Record<string, string> | Headers | undefined
}

export function checkTimes(options: TimeOptions) {
  check('options', options, 'object')
  return {
    heartbeatMs: option(options, 'heartbeatMs', 'number', 8 * SECOND, 0),
    stallTimeoutMs: option(options, 'stallTimeoutMs', 'number', 30 * SECOND, 0),
    retryMs: checkRetry(options.retryMs),
    headers: checkHeaders(options.headers),
  }
}

export type CheckedStreamOptions = ReturnType<typeof checkStreamOptions>

/** Throws `TypeError` or `RangeError` naming the option; those of `subscribe` are checked there. */
export function checkStreamOptions(options: SseStreamOptions) {
  const times = checkTimes(options)
  const { signal } = options
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw wrongType('signal', 'an AbortSignal', signal)
  }
  const data = oneOf('data', options.data, 'envelope', 'payload')
  return {
    ...times,
    signal,
    data,
    cursor: oneOf('cursor', options.cursor, 'epoch', 'id'),
    event: option(options, 'event', 'boolean', data === 'envelope'),
    /** What an idle stream is sent; empty for nothing. */
    heartbeat: times.heartbeatMs > 0 && times.heartbeatMs < Infinity ? heartbeatText(options) : '',
    closeTimeoutMs: option(options, 'closeTimeoutMs', 'number', 500, 0),
    format: option(options, 'format', 'function', undefined),
    lastEventIdParam: option(options, 'lastEventIdParam', 'string', 'lastEventId'),
    maxQueuedParam: option(options, 'maxQueuedParam', 'string', undefined),
    onLimit: oneOf('onLimit', options.onLimit, 'frame', 'status'),
    onOpen: option(options, 'onOpen', 'function', undefined),
    onClose: option(options, 'onClose', 'function', undefined),
  }
}

function heartbeatText(options: SseStreamOptions): string {
  const name = option(options, 'heartbeatEvent', 'string', undefined)
  if (name === undefined) return HEARTBEAT
  if (!/^[^\r\n\0]+$/.test(name)) throw new RangeError('heartbeatEvent must be one line, and not empty')
  return `event: ${name}\ndata: {}\n\n`
}

function oneOf<First extends string, Second extends string>(
  name: string,
  value: First | Second | undefined,
  first: First,
  second: Second,
): First | Second {
  if (value === undefined) return first
  if (check(name, value, 'string') !== first && value !== second) {
    throw new RangeError(`${name} must be '${first}' or '${second}'`)
  }
  return value
}

function checkRetry(retryMs: TimeOptions['retryMs'] = 3 * SECOND): readonly [number, number] {
  const [min, max] = Array.isArray(retryMs) ? retryMs : [retryMs, retryMs]
  check('retryMs', min, 'number', 0, Number.MAX_SAFE_INTEGER)
  check('retryMs', max, 'number', min, Number.MAX_SAFE_INTEGER)
  return [min, max]
}

/** The `retry:` block; a range spreads the clients of a server that went down, since each one draws its own. */
export function retryText([min, max]: readonly [number, number]): string {
  const retryMs = min + Math.floor(Math.random() * (max - min + 1))
  return retryMs === 0 ? '' : `retry: ${retryMs}\n\n`
}

// HTTP/2 forbids them, and HTTP/1.1 gives them to whoever owns the connection.
const OF_THE_CONNECTION = [
  'transfer-encoding',
  'content-encoding',
  'content-length',
  'connection',
  'keep-alive',
]

function checkHeaders(init: TimeOptions['headers']): Headers {
  const headers = new Headers({
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  if (init === undefined) return headers
  for (const [name, value] of new Headers(check('headers', init, 'object'))) {
    if (OF_THE_CONNECTION.includes(name)) throw new TypeError(`headers must not set ${name}`)
    headers.set(name, value)
  }
  return headers
}
