import * as http from 'node:http'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'
import { RawClient, type RequestShape } from './http-client.ts'
import { until, within } from './until.ts'

// Sockets and megabytes take what they take on a busy machine; nothing here waits for a timeout to pass.
vi.setConfig({ testTimeout: 20_000 })

export type Request = http.IncomingMessage | http2.Http2ServerRequest
export type Response = http.ServerResponse | http2.Http2ServerResponse

/** One request that reached a server. */
export interface Exchange {
  readonly req: Request
  readonly res: Response
  /** What the handler returned. */
  readonly done: Promise<unknown>
  settled: boolean
}

export interface TestServer {
  readonly port: number
  readonly server: http.Server | http2.Http2Server
  readonly exchanges: Exchange[]
  url(path?: string): string
  /** A client on a bare socket; the head need not have come yet. */
  connect(request?: RequestShape): RawClient
  /** The same, once its head is there. */
  open(request?: RequestShape): Promise<RawClient>
  /** The exchange of the nth request, once it has arrived. */
  exchange(index?: number): Promise<Exchange>
}

type Handler = (req: http.IncomingMessage, res: http.ServerResponse) => unknown

/** Things that a handler listens to; none may be left when it is done. */
const WATCHED = ['close', 'finish', 'error', 'drain', 'end', 'data', 'aborted', 'readable', 'pipe', 'unpipe']

/** What Node itself adds after it has called the handler. */
const NODES_OWN = new Set([
  'req end: clearRequestTimeout',
  'req end: clearIncoming',
  'socket error: noop',
  'socket finish: bound onceWrapper',
])

/**
 * A server on a free port, closed after the test. Each handler must have settled by then, and must have taken all its
 * listeners off the request (unless it hands on the request's body, which may keep its own), the response and their
 * socket.
 */
export async function serve(
  handler: Handler,
  options: http.ServerOptions & { http2?: boolean; readsBody?: boolean } = {},
): Promise<TestServer> {
  const { http2: multiplexed = false, readsBody = false, ...rest } = options
  const exchanges: Exchange[] = []
  const checks: (() => void)[] = []
  const listener = (req: Request, res: Response) => {
    checks.push(leakCheck(req, res, readsBody))
    const done = (async () => handler(req as http.IncomingMessage, res as http.ServerResponse))()
    const exchange: Exchange = { req, res, done, settled: false }
    const settled = () => {
      exchange.settled = true
    }
    done.then(settled, settled)
    exchanges.push(exchange)
  }
  const server = multiplexed ? http2.createServer(listener) : http.createServer(rest, listener)
  const sessions = new Set<http2.Http2Session>()
  if (multiplexed) server.on('session', (session: http2.Http2Session) => sessions.add(session))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  onTestFinished(async () => {
    for (const session of sessions) session.destroy()
    if ('closeAllConnections' in server) server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
    for (const [index, { done }] of exchanges.entries()) {
      const outcome = done.catch(() => {})
      await within(outcome, `the handler of request ${index} to settle after its connection was closed`)
    }
    for (const check of checks) check()
  })

  const connect = (request?: RequestShape) => new RawClient(port, request)
  return {
    port,
    server,
    exchanges,
    url: (path = '/') => `http://127.0.0.1:${port}${path}`,
    connect,
    open: (request) => connect(request).head(),
    exchange: async (index = 0) => {
      await until(() => exchanges.length > index, `request ${index} to arrive`)
      return exchanges[index] as Exchange
    },
  }
}

function leakCheck(req: Request, res: Response, readsBody: boolean): () => void {
  // The socket proxy of http2 refuses some reads; its listeners are the session's affair.
  const emitters = {
    ...(readsBody ? {} : { req }),
    res,
    ...(req.httpVersionMajor === 1 ? { socket: req.socket } : {}),
  }
  const listeners = () =>
    Object.entries(emitters).flatMap(([name, emitter]) =>
      WATCHED.flatMap((event) =>
        emitter
          .rawListeners(event)
          .map((listener) => ({ on: `${name} ${event}: ${listener.name}`, listener })),
      ),
    )
  const before = new Set(listeners().map(({ listener }) => listener))
  return () => {
    const left = listeners().filter(({ on, listener }) => !before.has(listener) && !NODES_OWN.has(on))
    expect(
      left.map(({ on }) => on),
      'listeners left on request, response or socket',
    ).toEqual([])
  }
}

/** Text of everything written to a response from now on, one entry a call; `end` with a chunk counts as one. */
export function spyOnWrites(res: Response): string[] {
  const writes: string[] = []
  const note = (chunk: unknown) => {
    if (typeof chunk === 'string') writes.push(chunk)
    else if (chunk instanceof Uint8Array) writes.push(Buffer.from(chunk).toString('utf8'))
  }
  const target = res as http.ServerResponse
  const write = target.write.bind(target) as (...args: unknown[]) => boolean
  const end = target.end.bind(target) as (...args: unknown[]) => http.ServerResponse
  target.write = ((...args: unknown[]) => {
    note(args[0])
    return write(...args)
  }) as typeof target.write
  target.end = ((...args: unknown[]) => {
    note(args[0])
    return end(...args)
  }) as typeof target.end
  return writes
}
