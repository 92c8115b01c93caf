/**
 * A bus as a response of `node:http` or `node:http2`, and of every framework that lets a handler have it.
 *
 * What a client has not read stays in its subscriber's bounded backlog: while the socket takes no more, the bus queues,
 * warns and evicts. A client that is gone frees its subscriber at once; one that is stuck, within `stallTimeoutMs`.
 */

import type { ServerResponse } from 'node:http'
import type { AnyEvents, BusLike } from '../index.ts'
import { check, wrongType } from '../internal/check.ts'
import type { Pump, Sink } from '../internal/pump.ts'
import { after } from '../internal/timer.ts'
import { answer } from '../web/answer.ts'
import type { Bytes } from '../web/encoder.ts'
import type { SseStreamOptions } from '../web/options.ts'
import { openTransport, type SseTransportOptions, type TransportStream } from '../web/transport.ts'
import {
  CLOSE_TIMEOUT_MS,
  checkHeaders,
  isGone,
  type NodeRequest,
  type NodeResponse,
  sinkOf,
  writeHead,
} from './sink.ts'

export type { EndReason } from '../internal/pump.ts'
export type { SseStreamOptions, StreamClosed, StreamOpened } from '../web/options.ts'
export type { SseTransportOptions, TransportStream } from '../web/transport.ts'
export type { NodeRequest, NodeResponse } from './sink.ts'
export { toNodeHandler } from './to-node-handler.ts'

const nodeBytes: Bytes = {
  encode: (text) => Buffer.from(text),
  join: (chunks, size) => Buffer.concat(chunks, size),
}

/**
 * Answers a request with a stream of the bus (HTML standard, § 9.2): `retry:`, a cursor block for a client that brought
 * no cursor, then what it missed and what comes.
 *
 * Subscribed before it returns, so that what is published next is in the stream. Settles when the stream has ended,
 * however it ended; rejects with `TypeError` or `RangeError` for a bad option only, and then the response is untouched.
 * A response that is already over is left alone, and nothing is subscribed. Express, Koa (`ctx.respond = false`) and
 * Fastify (`reply.hijack()`) hand over their own `req` and `res`; headers that were set before stay.
 */
export async function serveSse<Events = AnyEvents>(
  bus: BusLike,
  req: NodeRequest,
  res: NodeResponse,
  options: SseStreamOptions<Events> = {},
): Promise<void> {
  check('bus', bus, 'object')
  checkPair(req, res)
  if (isGone(req, res)) return
  checkHeaders(options)
  const header = req.headers['last-event-id']
  const { status, headers, stream } = answer(bus, req, header, options as SseStreamOptions, nodeBytes)
  try {
    writeHead(res, status, headers)
  } catch (error) {
    // A header that this protocol refuses: nothing was sent, and nobody stays subscribed.
    stream?.destroy('error')
    throw error
  }
  if (stream === undefined) res.end()
  else await pumped(stream, req, res).settled
}

/**
 * An SSE response that a session sends its messages to. `Last-Event-ID` is the session's business: parse it with
 * `parseCursor` and give it to `session.attach`. HEAD gets the head, and a transport that is over. Once it is closed, a client
 * that takes nothing for 500 ms is cut off. Throws `TypeError` or `RangeError` naming a bad option.
 */
export function sseTransport(
  req: NodeRequest,
  res: NodeResponse,
  options: SseTransportOptions = {},
): TransportStream {
  checkPair(req, res)
  checkHeaders(options)
  const { transport, stream, headers } = openTransport(options, nodeBytes)
  if (isGone(req, res)) stream.settle()
  else {
    writeHead(res, 200, headers)
    if (req.method === 'HEAD') {
      res.end()
      stream.settle()
    } else endSoon(transport, stream, pumped(stream, req, res))
  }
  return transport
}

/** Gives what was sent before a close as long as it moves, however slowly. */
function endSoon(transport: TransportStream, stream: Pump, { sink, settled }: Pumped): void {
  const { close } = transport
  let cancel: (() => void) | undefined
  const watch = () => {
    cancel = after(CLOSE_TIMEOUT_MS, () => {
      if (sink.moved?.()) watch()
      else stream.destroy('stalled')
    })
  }
  transport.close = (reason) => {
    if (transport.isClosed) return
    close(reason)
    // What has moved by now says nothing.
    sink.moved?.()
    watch()
  }
  void settled.then(() => cancel?.())
}

function checkPair(req: NodeRequest, res: NodeResponse): void {
  if (typeof req?.headers !== 'object') throw wrongType('req', 'a request of node:http or node:http2', req)
  if (typeof res?.write !== 'function') throw wrongType('res', 'a response of node:http or node:http2', res)
}

interface Pumped {
  readonly sink: Sink
  /** The stream is over. */
  readonly settled: Promise<void>
}

function pumped(pump: Pump, req: NodeRequest, res: NodeResponse): Pumped {
  let over!: () => void
  const settled = new Promise<void>((resolve) => {
    over = resolve
  })
  const sink = sinkOf(req, res, pump, over)
  pump.start(sink)
  // The head alone is the opening.
  if (pump.bytes === 0) {
    ;(res as ServerResponse).flushHeaders()
    pump.flushed()
    pump.resume()
  }
  return { sink, settled }
}
