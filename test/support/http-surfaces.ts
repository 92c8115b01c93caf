import type { ServerResponse } from 'node:http'
import * as http2 from 'node:http2'
import { expect, onTestFinished, vi } from 'vitest'
import { type Diagnostic, EventBus } from '../../src/index.ts'
import { serveSse, sseTransport, type TransportStream, toNodeHandler } from '../../src/node/index.ts'
import { sseResponse } from '../../src/web/index.ts'
import type { RequestShape, Stream } from './http-client.ts'
import { type Request, type Response, serve, type TestServer } from './http-server.ts'
import { Transcript } from './http-transcript.ts'
import { settle, until } from './until.ts'

export type AnyBus = Parameters<typeof serveSse>[0]
export type SseOptions = NonNullable<Parameters<typeof serveSse>[3]>
export type OpenInfo = Parameters<NonNullable<SseOptions['onOpen']>>[0]
export type CloseInfo = Parameters<NonNullable<SseOptions['onClose']>>[0]
type BusOptions = NonNullable<ConstructorParameters<typeof EventBus>[0]>

/** One way of a bus to a client. */
export interface Surface {
  readonly name: string
  open(bus: AnyBus, options?: SseOptions, request?: RequestShape): Promise<Stream>
}

/** A bus with the epoch `e1` that keeps its diagnostics; after the test it must have no subscriber left. */
export function makeBus(options: BusOptions = {}): EventBus & { diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const bus = new EventBus({ epoch: 'e1', onDiagnostic: (d) => diagnostics.push(d), ...options })
  onTestFinished(() => until(() => bus.subscriberCount === 0, 'the bus to have no subscriber left'))
  return Object.assign(bus, { diagnostics })
}

/** Publishes `count` events of type `note` whose data is `data`, or their place in this call. */
export function publishNotes(bus: EventBus, count: number, data?: unknown): void {
  for (let n = 1; n <= count; n++) bus.publish({ type: 'note', data: data ?? { n } })
}

/**
 * Publishes until a client that has stopped reading takes no more: the buffers between are full, and the server's own
 * holds what is left. The subscriber's cap must be well above 20.
 */
export async function jam(bus: EventBus, response: Response): Promise<void> {
  const res = response as ServerResponse
  for (let full = 0, n = 0; full < 5 && n < 2000 && !res.destroyed; n++) {
    publishNotes(bus, 4, 'x'.repeat(65_536))
    await settle(1)
    full = res.writableNeedDrain ? full + 1 : 0
  }
}

/** A server whose every request gets a stream of the bus. */
export function serveBus(
  bus: AnyBus,
  options?: SseOptions,
  how: NonNullable<Parameters<typeof serve>[1]> & { before?: (req: Request, res: Response) => unknown } = {},
): Promise<TestServer> {
  const { before, ...serverOptions } = how
  return serve(async (req, res) => {
    await before?.(req, res)
    return serveSse(bus, req, res, options)
  }, serverOptions)
}

/** A server whose answers are transports; `transport` is that of the latest. */
export async function serveTransports(
  options: Parameters<typeof sseTransport>[2],
  http2: boolean,
): Promise<{ server: TestServer; readonly transport: TransportStream }> {
  let transport: TransportStream | undefined
  const server = await serve(
    (req, res) => {
      transport = sseTransport(req, res, options)
      return transport.closed
    },
    { http2 },
  )
  return {
    server,
    get transport() {
      if (transport === undefined) throw new Error('nobody has asked for one')
      return transport
    },
  }
}

/** A response of `./web` read to its end by one reader, as fast as it comes. */
export class WebStream implements Stream {
  readonly transcript = new Transcript()
  ended = false
  torn = false
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  constructor(readonly response: globalThis.Response) {
    this.#reader = response.body?.getReader()
    if (this.#reader === undefined) this.ended = true
    else void this.#read(this.#reader)
    onTestFinished(() => this.leave())
  }
  get status(): number {
    return this.response.status
  }
  get headers(): Headers {
    return this.response.headers
  }
  leave(): void {
    void this.#reader?.cancel().catch(() => {})
  }
  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        this.transcript.feed(value)
      }
      this.ended = true
    } catch {
      this.torn = true
    }
  }
}

/** A request as a fetch server hands it over. */
export function webRequest(
  { path = '/', method = 'GET', headers = {} }: RequestShape = {},
  signal?: AbortSignal,
) {
  const init = Array.isArray(headers)
    ? headers.map(([name, value]) => [name, value] as [string, string])
    : headers
  return new globalThis.Request(`http://127.0.0.1${path}`, {
    method,
    headers: init as Record<string, string>,
    ...(signal === undefined ? {} : { signal }),
  })
}

/** One stream of an HTTP/2 session with prior knowledge. */
class Http2Stream implements Stream {
  readonly transcript = new Transcript()
  readonly headers = new Headers()
  status = 0
  ended = false
  closed = false
  readonly session: http2.ClientHttp2Session
  readonly stream: http2.ClientHttp2Stream
  constructor(
    port: number,
    { path = '/', method = 'GET', headers = {} }: RequestShape,
    session?: http2.ClientHttp2Session,
  ) {
    this.session = session ?? http2.connect(`http://127.0.0.1:${port}`)
    const pairs = Array.isArray(headers) ? headers : Object.entries(headers)
    this.stream = this.session.request({ ':path': path, ':method': method, ...Object.fromEntries(pairs) })
    this.stream.on('response', (head) => {
      for (const [name, value] of Object.entries(head)) {
        if (!name.startsWith(':')) this.headers.append(name, String(value))
      }
      this.status = Number(head[':status'])
    })
    this.stream.on('data', (chunk: Uint8Array) => this.transcript.feed(chunk))
    this.stream.on('end', () => {
      this.ended = this.stream.rstCode === http2.constants.NGHTTP2_NO_ERROR
    })
    this.stream.on('error', () => {})
    this.session.on('error', () => {})
    this.stream.on('close', () => {
      this.closed = true
      if (this.stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) this.ended = false
    })
    onTestFinished(() => this.session.destroy())
  }
  get torn(): boolean {
    return this.closed && !this.ended
  }
  leave(): void {
    this.stream.close(http2.constants.NGHTTP2_CANCEL)
  }
  async head(): Promise<this> {
    await until(() => this.status !== 0 || this.closed, 'the head of the response')
    return this
  }
}

/** A stream of its own session, or of one that is there already. */
export const http2Open = (port: number, request: RequestShape = {}, session?: http2.ClientHttp2Session) =>
  new Http2Stream(port, request, session).head()

export const nodeHttp1: Surface = {
  name: 'node over HTTP/1.1',
  open: async (bus, options, request) => (await serveBus(bus, options)).open(request),
}

export const nodeHttp2: Surface = {
  name: 'node over HTTP/2',
  open: async (bus, options, request) =>
    http2Open((await serveBus(bus, options, { http2: true })).port, request),
}

export const web: Surface = {
  name: 'web',
  open: async (bus, options, request) => new WebStream(sseResponse(bus, webRequest(request), options)),
}

export const webOnNode: Surface = {
  name: 'web behind toNodeHandler',
  open: async (bus, options, request) => {
    const handler = toNodeHandler((webRequest) => sseResponse(bus, webRequest, options))
    return (await serve((req, res) => handler(req, res))).open(request)
  },
}

export interface Clock {
  /** Moves the faked timers on; sockets go on in real time. */
  pass(ms: number): Promise<void>
  /** Timers that are armed. */
  readonly timers: number
}

/** Fakes the timers and clocks that a library can see until the end of the test. */
export function fakeClock(): Clock {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  return {
    pass: async (ms) => {
      await vi.advanceTimersByTimeAsync(ms)
    },
    get timers() {
      return vi.getTimerCount()
    },
  }
}

/** Publishes a marker and waits for it: whatever was written before has then been heard. */
export async function hearMarker(bus: EventBus, stream: Stream): Promise<void> {
  const event = bus.publish({ type: 'marker' })
  expect(event, 'the marker was published').toBeDefined()
  await until(() => stream.transcript.ids.includes(event?.id as number), 'the marker')
}

export const surfaces: readonly Surface[] = [nodeHttp1, nodeHttp2, web, webOnNode]

/** A bus that is no `EventBus`: what an adapter sees of one, with some methods replaced. */
export function busLike(bus: EventBus, replaced: Partial<AnyBus>): AnyBus {
  const like: AnyBus = {
    get epoch() {
      return bus.epoch
    },
    get lastEventId() {
      return bus.lastEventId
    },
    get earliestAvailableId() {
      return bus.earliestAvailableId
    },
    get ended() {
      return bus.ended
    },
    get closed() {
      return bus.closed
    },
    subscribe: (options) => bus.subscribe(options),
    publish: (input) => bus.publish(input),
    end: () => bus.end(),
    close: (options) => bus.close(options),
  }
  return Object.defineProperties(like, Object.getOwnPropertyDescriptors(replaced))
}

/** The same bus, but `then` runs as soon as somebody has subscribed. */
export function afterSubscribe(bus: EventBus, then: () => void): AnyBus {
  return busLike(bus, {
    subscribe: (options) => {
      const subscription = bus.subscribe(options)
      then()
      return subscription
    },
  })
}
