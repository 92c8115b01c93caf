/** The options of an SSE stream: checked before anything is sent, every default filled in. */

import type { AnyEvents, EventOf, Frame, SubscribeOptions } from '../index.ts'
import { check, type Kind } from '../internal/check.ts'
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
  extends Omit<SubscribeOptions<EventOf<Events>>, 'lastEventId' | 'epoch'> {
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

/** How a stream is kept alive and how long it is waited for: shared by every kind of stream. */
export interface TimeOptions {
  heartbeatMs?: number | undefined
  retryMs?: number | readonly [number, number] | undefined
  stallTimeoutMs?: number | undefined
  headers?: Record<string, string> | Headers | undefined
}

/** A comment: no client shows it, and no cursor moves. */
export const HEARTBEAT = ': heartbeat\n\n'

/** What an option must be: of that type, or text that matches. A number is a time: an integer ≥ 0, or `Infinity`. */
const RULES = {
  heartbeatMs: 'number',
  stallTimeoutMs: 'number',
  closeTimeoutMs: 'number',
  event: 'boolean',
  signal: 'object',
  headers: 'object',
  format: 'function',
  onOpen: 'function',
  onClose: 'function',
  lastEventIdParam: 'string',
  maxQueuedParam: 'string',
  heartbeatEvent: /^[^\r\n\0]+$/,
  epoch: /^[\w-]{1,64}$/,
  cursor: /^(epoch|id)$/,
  data: /^(envelope|payload)$/,
  onLimit: /^(frame|status)$/,
} as const satisfies Record<string, Kind | RegExp>

/**
 * Throws `TypeError` or `RangeError` naming the option; those of `subscribe` are checked there. Returns what the options
 * of every kind of stream come to.
 */
export function checkOptions(options: TimeOptions) {
  check('options', options, 'object')
  for (const [name, rule] of Object.entries(RULES)) {
    const value = options[name as keyof TimeOptions]
    if (value === undefined) continue
    const text = check<unknown>(name, value, rule instanceof RegExp ? 'string' : rule, 0)
    if (rule instanceof RegExp && !rule.test(text as string))
      throw new RangeError(`${name} must match ${rule}`)
  }
  const { heartbeatMs = 8000, stallTimeoutMs = 30_000, retryMs = 3000 } = options
  const [min, max] = Array.isArray(retryMs) ? retryMs : [retryMs, retryMs]
  check('retryMs', min, 'number', 0, Number.MAX_SAFE_INTEGER)
  check('retryMs', max, 'number', min, Number.MAX_SAFE_INTEGER)
  return {
    // Never, too, needs no timer.
    heartbeatMs: heartbeatMs === Infinity ? 0 : heartbeatMs,
    stallTimeoutMs,
    retry: retryBlock(min, max),
    headers: headersOf(options.headers),
  }
}

export type CheckedOptions = ReturnType<typeof checkOptions>

/** `retry:` out of a range, which spreads the clients of a server that went down: each one draws its own. */
function retryBlock(min: number, max: number): string {
  const retryMs = min + Math.floor(Math.random() * (max - min + 1))
  return retryMs ? `retry: ${retryMs}\n\n` : ''
}

// HTTP/2 forbids them, and HTTP/1.1 gives them to whoever owns the connection.
const OF_THE_CONNECTION = /^(transfer-encoding|content-encoding|content-length|connection|keep-alive)$/

const DEFAULT_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

function headersOf(given: TimeOptions['headers']): Headers {
  const headers = new Headers(given)
  for (const name of headers.keys()) {
    if (OF_THE_CONNECTION.test(name)) throw new TypeError(`headers must not set ${name}`)
  }
  for (const [name, value] of Object.entries(DEFAULT_HEADERS)) {
    if (!headers.has(name)) headers.set(name, value)
  }
  return headers
}
