/**
 * A response of `node:http` or `node:http2` as a sink: who is gone is noticed by whichever event says so first, and every
 * listener goes with the stream.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Pump, Sink } from '../internal/pump.ts'

const INTERNAL_ERROR = 2

/** How long a client may hold up an event stream that has ended: `server.close()` waits for it. */
export const CLOSE_TIMEOUT_MS = 500

export type NodeRequest = IncomingMessage | Http2ServerRequest
export type NodeResponse = ServerResponse | Http2ServerResponse

/** The peer or somebody else has ended this response: nothing can be written, and no event will say so again. */
export function isGone(req: NodeRequest, res: NodeResponse): boolean {
  const { destroyed, writableEnded } = res as ServerResponse
  return Boolean(destroyed || writableEnded || req.socket?.destroyed)
}

/**
 * Calls back once when the client is gone, whichever event says so first. Returns the way to stop listening; then no
 * listener is left.
 */
export function onDisconnect(req: NodeRequest, res: NodeResponse, callback: () => void): () => void {
  const listeners: [emitter: NodeJS.EventEmitter, event: string, listener: () => void][] = []
  const on = (emitter: NodeJS.EventEmitter, event: string, listener = callback) => {
    emitter.on(event, listener)
    listeners.push([emitter, event, listener])
  }
  on(res, 'close')
  on(res, 'error')
  on(req, 'error')
  on(req, 'aborted')
  // A request that was read to its end closes while its response lives on.
  on(req, 'close', () => {
    if (!(req as IncomingMessage).complete || req.socket?.destroyed) callback()
  })
  // Half-closed: HTTP/2 ends each request that way, HTTP/1.1 only where a client has left.
  if (req.httpVersionMajor < 2 && req.socket) on(req.socket, 'end')
  return () => {
    for (const [emitter, event, listener] of listeners) emitter.removeListener(event, listener)
  }
}

/** Only what middleware added: the method that every response has is deprecated, and means something else. */
export function ownFlush(res: NodeResponse): (() => void) | undefined {
  const { flush } = res as { flush?: () => void }
  return Object.hasOwn(res, 'flush') && typeof flush === 'function' ? () => flush.call(res) : undefined
}

/** Ends a response so that it does not look complete: over HTTP/2, a stream that is only destroyed does. */
export function tear(res: NodeResponse): void {
  ;(res as Http2ServerResponse).stream?.close(INTERNAL_ERROR)
  res.destroy()
}

/** The response as a sink; `onSettled` once nothing listens to it any more. */
export function sinkOf(req: NodeRequest, response: NodeResponse, pump: Pump, onSettled: () => void): Sink {
  const res = response as ServerResponse
  const flush = ownFlush(res)
  const forget = onDisconnect(req, res, () => pump.settle('disconnected'))
  const finished = () => pump.settle()
  // Read now: a stream that has ended has let go of its session.
  const session = (response as Http2ServerResponse).stream?.session
  let left = 0
  res.on('drain', pump.resume)
  res.on('finish', finished)
  return {
    write(bytes) {
      const more = res.write(bytes, pump.flushed)
      flush?.()
      return more ? 1 : -1
    },
    // One large write leaves piece by piece, and only the handle knows: Node's own idle timeout looks there too.
    moved() {
      const { _handle } = (res.socket ?? {}) as { _handle?: { writeQueueSize?: number } }
      const before = left
      left = pump.bytes - res.writableLength - (_handle?.writeQueueSize ?? 0)
      return left > before
    },
    end: () => res.end(),
    destroy: () => res.destroy(),
    settled(reason) {
      forget()
      res.removeListener('drain', pump.resume)
      res.removeListener('finish', finished)
      // Whoever is gone takes the response along: nobody else will end it.
      if (!res.writableEnded) res.destroy()
      // HTTP/2 has no `Connection: close`: without this, `server.close()` waits for the client to leave.
      if (reason === 'closed') session?.close()
      onSettled()
    },
  }
}

export function isEventStream(headers: Headers): boolean {
  return /^text\/event-stream/.test(headers.get('content-type') ?? '')
}

/**
 * Writes status and headers. Those that were set before stay, unless `headers` names them. A stream is the last response
 * of its connection: kept alive, one that falls idle only during `server.close()` would hold that up for seconds.
 */
export function writeHead(res: NodeResponse, status: number, headers: Headers): void {
  if (res.headersSent) return
  const response = res as ServerResponse
  if (isEventStream(headers) && 'shouldKeepAlive' in response) response.shouldKeepAlive = false
  response.statusCode = status
  for (const [name, value] of headers) {
    if (name !== 'set-cookie') response.setHeader(name, value)
  }
  const cookies = headers.getSetCookie()
  const before = response.getHeader('set-cookie') ?? []
  // Not `appendHeader`, which a response of HTTP/2 has only since Node 20.12.
  if (cookies.length > 0) response.setHeader('set-cookie', [before, cookies].flat() as string[])
}

/** `Headers` takes control characters, Node does not: told before anything is subscribed. */
export function checkHeaders(options: {
  readonly headers?: Record<string, string> | Headers | undefined
}): void {
  const headers = options?.headers
  if (headers === null || typeof headers !== 'object') return
  for (const [name, value] of new Headers(headers)) {
    if (/[^\t -~\x80-\xff]/.test(value))
      throw new TypeError(`headers must hold no control character: ${name}`)
  }
}
