/** A fetch handler as a Node handler: the same care for slow and lost clients as a stream of a bus has. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import process from 'node:process'
import type { Readable } from 'node:stream'
import { check } from '../internal/check.ts'
import { after } from '../internal/timer.ts'
import {
  CLOSE_TIMEOUT_MS,
  isEventStream,
  isGone,
  type NodeRequest,
  type NodeResponse,
  onDisconnect,
  ownFlush,
  tear,
  writeHead,
} from './sink.ts'

export type FetchHandler = (request: Request) => Response | Promise<Response>

/**
 * Adapts a fetch handler to `(req, res)`.
 *
 * The handler's `request.signal` aborts when the client is gone, and the body of its response is cancelled. The body is
 * read only as fast as the client takes it. A handler that throws or rejects, or gives no `Response`, is answered 500
 * without a word of why; a body that fails on the way destroys the response. The promise settles when the response is
 * over and never rejects. Throws `TypeError` where `handler` is no function.
 */
export function toNodeHandler(handler: FetchHandler): (req: NodeRequest, res: NodeResponse) => Promise<void> {
  check('handler', handler, 'function')
  return async (req, res) => {
    if (isGone(req, res)) return
    const gone = new AbortController()
    // Whoever goes after the answer was complete has gone from nothing.
    let complete = false
    const completed = () => {
      complete = true
    }
    res.on('finish', completed)
    const forget = onDisconnect(req, res, () => {
      if (!complete) gone.abort()
    })
    try {
      const response = await responseOf(handler, requestOf(req, gone.signal))
      if (gone.signal.aborted) await response.body?.cancel()
      else await send(response, req, res as ServerResponse, gone.signal)
    } catch {
      fail(res as ServerResponse)
    } finally {
      forget()
      res.removeListener('finish', completed)
    }
  }
}

/** The body failed, or the head could not be written: what is there cannot be completed, what is not is 500. */
function fail(res: ServerResponse): void {
  if (res.headersSent) {
    tear(res)
    return
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name)
  res.statusCode = 500
  res.statusMessage = ''
  res.end()
}

async function responseOf(handler: FetchHandler, request: Request | undefined): Promise<Response> {
  if (request === undefined) return new Response(null, { status: 400 })
  try {
    const response = await handler(request)
    // By shape: a framework's own Response may be of another realm.
    if (typeof response?.headers?.get === 'function' && !response.bodyUsed) return response
  } catch {
    // Whatever it says is for the server's own log: the handler is the place to write it.
  }
  return new Response(null, { status: 500 })
}

/** Undefined where the URL or a header is none that a `Request` can have. */
function requestOf(req: NodeRequest, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', headers } = req
  const scheme = (req.socket as { encrypted?: boolean } | undefined)?.encrypted ? 'https' : 'http'
  const host = headers[':authority'] ?? headers.host ?? 'localhost'
  const body = method === 'GET' || method === 'HEAD' ? null : bodyOf(req as IncomingMessage)
  const init = { method, headers: headersOf(req), body, duplex: 'half', signal }
  try {
    // Put together, not resolved: `//other/path` is a path here, and no other host.
    const whole = url.startsWith('/') ? `${scheme}://${host}${url}` : url
    return new Request(whole, init as RequestInit)
  } catch {
    return undefined
  }
}

/** Read as the handler asks for it; one that it leaves unread does not cost the connection. */
function bodyOf(req: Readable): ReadableStream {
  const chunks = req.iterator({ destroyOnReturn: false })
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(new Uint8Array(value))
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

function headersOf(req: NodeRequest): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] as string
    // HTTP/2 carries method and path as headers of such names.
    if (!name.startsWith(':')) pairs.push([name, req.rawHeaders[at + 1] as string])
  }
  return pairs
}

async function send(
  response: Response,
  req: NodeRequest,
  res: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const { status, statusText, headers, body } = response
  if (statusText && req.httpVersionMajor < 2) res.statusMessage = statusText
  writeHead(res, status, headers)
  if (body === null || req.method === 'HEAD') {
    await body?.cancel()
    res.end()
    return
  }
  const reader = body.getReader()
  const flush = ownFlush(res)
  const streams = isEventStream(headers)
  const cancel = () => void reader.cancel().catch(() => {})
  gone.addEventListener('abort', cancel)
  // A body may fail while the client is not reading, and then no read is there to say so.
  reader.closed.catch(() => tear(res))
  res.flushHeaders()
  for (;;) {
    const reading = reader.read()
    let waited = false
    // Comes too late to be seen behind the `await` where the chunk is ready, and in time where it is not.
    if (streams) queueMicrotask(() => queueMicrotask(() => (waited = true)))
    const { done, value } = await reading
    if (gone.aborted) return
    if (done) break
    const more = res.write(value)
    flush?.()
    if (!more) await drained(res, gone)
    // It leaves with the next tick: what comes until then gathers where it comes from, and goes as one. Chunks that are
    // ready were not gathered by anybody, and leave together as they are.
    else if (waited) await nextTick()
  }
  await ended(res, gone, streams)
}

function ended(res: ServerResponse, gone: AbortSignal, streams: boolean): Promise<void> {
  return new Promise((resolve) => {
    const { session } = (res as unknown as Http2ServerResponse).stream ?? {}
    const cancel = streams ? after(CLOSE_TIMEOUT_MS, () => res.destroy()) : () => {}
    const done = () => {
      cancel()
      res.removeListener('finish', done)
      gone.removeEventListener('abort', done)
      if (streams) session?.close()
      resolve()
    }
    res.on('finish', done)
    gone.addEventListener('abort', done)
    res.end()
    if (gone.aborted) done()
  })
}

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve))

function drained(res: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.removeListener('drain', done)
      gone.removeEventListener('abort', done)
      resolve()
    }
    res.on('drain', done)
    gone.addEventListener('abort', done)
    if (gone.aborted) done()
  })
}
