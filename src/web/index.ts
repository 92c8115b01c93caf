/**
 * A bus as a fetch `Response`, on every runtime that has one.
 *
 * The stream is pull-driven (high-water mark 0): what nobody reads stays in the subscriber's bounded backlog, so a slow
 * client is warned and evicted by the bus, and never buffered here.
 */

import type { AnyEvents, BusLike } from '../index.ts'
import { check, wrongType } from '../internal/check.ts'
import { answer } from './answer.ts'
import { bodyOf, webBytes } from './body.ts'
import type { SseStreamOptions } from './options.ts'
import { openTransport, type SseTransportOptions, type TransportStream } from './transport.ts'

export type { EndReason } from '../internal/pump.ts'
export type { SseStreamOptions, StreamClosed, StreamOpened } from './options.ts'
export type { SseTransportOptions, TransportStream } from './transport.ts'

/**
 * Answers a request with a stream of the bus (HTML standard, § 9.2): `retry:`, a cursor block for a client that brought
 * no cursor, then what it missed and what comes.
 *
 * Subscribed before it returns, so that what is published next is in the stream. 204 where the bus has ended and the
 * client has everything, which stops an `EventSource`; 400 and 503 as the options say; 200 else. Throws `TypeError` or
 * `RangeError` naming a bad option, and then nothing is subscribed; after that it never throws.
 */
export function sseResponse<Events = AnyEvents>(
  bus: BusLike,
  request: Request,
  options: SseStreamOptions<Events> = {},
): Response {
  check('bus', bus, 'object')
  const header = headerOf(request)
  const answered = answer(bus, request, header, options as SseStreamOptions, webBytes)
  return new Response(answered.stream && bodyOf(answered.stream, request), answered)
}

/**
 * An SSE response that a session sends its messages to. `Last-Event-ID` is the session's business: parse it with
 * `parseCursor` and give it to `session.attach`. HEAD gets the head, and a transport that is over. Throws `TypeError` or
 * `RangeError` naming a bad option.
 */
export function sseTransport(
  request: Request,
  options: SseTransportOptions = {},
): { transport: TransportStream; response: Response } {
  headerOf(request)
  const { transport, stream, headers } = openTransport(options, webBytes)
  return { transport, response: new Response(bodyOf(stream, request), { headers }) }
}

/** `Last-Event-ID`; throws where the request is none. */
function headerOf(request: Request): string | null {
  if (typeof request?.headers?.get !== 'function') throw wrongType('request', 'a Request', request)
  return request.headers.get('last-event-id')
}
