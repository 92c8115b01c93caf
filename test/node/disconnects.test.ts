import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { heard, type RawClient } from '../support/http-client.ts'
import { fakeExchange, listenerCounts } from '../support/http-fakes.ts'
import { serve, type TestServer } from '../support/http-server.ts'
import {
  type CloseInfo,
  hearMarker,
  http2Open,
  jam,
  makeBus,
  publishNotes,
  type SseOptions,
  serveBus,
} from '../support/http-surfaces.ts'
import { settle, until, within } from '../support/until.ts'

function noted(options: SseOptions = {}) {
  const closes: CloseInfo[] = []
  return { closes, options: { ...options, onClose: (info: CloseInfo) => closes.push(info) } }
}

type Leave = (client: RawClient, server: TestServer) => unknown

const ways: Record<string, Leave> = {
  'destroys its socket': (client) => client.destroy(),
  'resets its connection': (client) => client.reset(),
  'half-closes': (client) => client.halfClose(),
  'is destroyed in the middle of a frame': async (client) => {
    client.cutAfter(client.transcript.bytes + 50)
  },
  'has its request destroyed': async (_client, server) => (await server.exchange()).req.destroy(),
  'has its response destroyed': async (_client, server) => (await server.exchange()).res.destroy(),
  'has its response ended by somebody else': async (_client, server) => (await server.exchange()).res.end(),
  'has its socket destroyed': async (_client, server) => (await server.exchange()).req.socket.destroy(),
  'has its socket destroyed with an error': async (_client, server) =>
    (await server.exchange()).req.socket.destroy(new Error('ECONNRESET')),
  'loses its server’s connections': (_client, server) => {
    ;(server.server as import('node:http').Server).closeAllConnections()
  },
}

describe('the subscriber is freed at once, exactly once, when the client', () => {
  it.each(Object.entries(ways))('%s', async (_name, leave) => {
    const bus = makeBus()
    const { closes, options } = noted()
    const server = await serveBus(bus, options)
    const client = await server.open()
    await heard(client, (t) => t.cursors.length > 0)
    expect(bus.subscriberCount).toBe(1)
    await leave(client, server)
    // The frame that is cut in the middle has to be there; all others need nothing to be published.
    if (_name.includes('frame')) publishNotes(bus, 1, 'x'.repeat(1000))
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
    await within((await server.exchange()).done, 'serveSse to settle')
    publishNotes(bus, 3)
    await settle()
    expect(closes.map(({ reason }) => reason)).toEqual(['disconnected'])
  })

  it('half-closes, on a server that allows half-open connections', async () => {
    const bus = makeBus()
    const { closes, options } = noted()
    const server = await serveBus(bus, options)
    ;(server.server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
    const client = await server.open()
    await heard(client, (t) => t.cursors.length > 0)
    client.halfClose()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
    await until(() => client.closed)
    expect(closes.map(({ reason }) => reason)).toEqual(['disconnected'])
  })

  it('goes while its replay is being written', async () => {
    const bus = makeBus()
    publishNotes(bus, 1000, 'x'.repeat(10_000))
    const { closes, options } = noted()
    const server = await serveBus(bus, options)
    const client = server.connect({ headers: { 'Last-Event-ID': '0' } }).cutAfter(500_000)
    await until(() => client.closed)
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
    await within((await server.exchange()).done, 'serveSse to settle')
    expect(closes.map(({ reason }) => reason)).toEqual(['disconnected'])
  })

  it('goes while the server waits for it to read', async () => {
    const bus = makeBus({ maxQueued: 10_000 })
    const { closes, options } = noted()
    const server = await serveBus(bus, options)
    const client = await server.open()
    client.stopReading()
    const { res } = await server.exchange()
    await jam(bus, res)
    client.reset()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
    expect(closes.map(({ reason }) => reason)).toEqual(['disconnected'])
  })

  it('closes its HTTP/2 stream, or loses the session', async () => {
    const bus = makeBus()
    const { closes, options } = noted()
    const server = await serveBus(bus, options, { http2: true })
    const one = await http2Open(server.port)
    const two = await http2Open(server.port)
    await until(() => bus.subscriberCount === 2)
    one.leave()
    await until(() => bus.subscriberCount === 1, 'one subscriber', 1000)
    two.session.destroy()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
    await until(() => closes.length === 2)
    expect(closes.map(({ reason }) => reason)).toEqual(['disconnected', 'disconnected'])
  })
})

describe('a request whose body was read', () => {
  const readBody = async (req: IncomingMessage) => {
    req.resume()
    await new Promise<void>((resolve) => req.once('close', resolve))
  }

  it('before the adapter starts is not a disconnect, though the request has closed', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, {}, { before: (req) => readBody(req as IncomingMessage) })
    const client = await server.open({ method: 'POST', body: '{"a":1}' })
    await heard(client, (t) => t.cursors.length > 0)
    await hearMarker(bus, client)
    expect(bus.subscriberCount).toBe(1)
    client.destroy()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
  })

  it('after the adapter started is not one either', async () => {
    const bus = makeBus()
    const server = await serve((req, res) => {
      const done = serveSse(bus, req, res)
      req.resume()
      return done
    })
    const client = await server.open({ method: 'POST', body: 'x'.repeat(1000) })
    await until(() => client.transcript.cursors.length > 0)
    await settle(5)
    await hearMarker(bus, client)
  })

  it('never is no reason to keep the subscriber of a client that has gone', async () => {
    const bus = makeBus()
    const server = await serveBus(bus)
    const client = await server.open({
      method: 'POST',
      headers: { 'Content-Length': '1000000' },
    })
    await heard(client, (t) => t.cursors.length > 0)
    client.destroy()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
  })
})

describe('a response that is over before the adapter starts', () => {
  const cases: Record<string, (req: IncomingMessage, res: ServerResponse) => unknown> = {
    'was ended': (_req, res) => res.end('done'),
    'was destroyed': (_req, res) => res.destroy(),
    'lost its socket': async (req, res) => {
      req.socket.destroy()
      await until(() => res.destroyed || res.closed)
    },
  }

  it.each(Object.entries(cases))(
    '(%s) is left alone: nobody subscribes and nothing throws',
    async (_name, before) => {
      const bus = makeBus()
      let subscribed = 0
      const { subscribe } = bus
      bus.subscribe = ((options: never) => {
        subscribed++
        return subscribe.call(bus, options)
      }) as typeof subscribe
      const { options } = noted()
      const server = await serveBus(bus, options, {
        before: (req, res) => before(req as IncomingMessage, res as ServerResponse),
      })
      server.connect()
      await within((await server.exchange()).done, 'serveSse to settle')
      expect(subscribed).toBe(0)
    },
  )
})

describe('a stream that is over', () => {
  it('leaves no listener on request, response or socket', async () => {
    const bus = makeBus()
    const exchange = fakeExchange()
    const before = listenerCounts(exchange)
    const done = serveSse(bus, exchange.req, exchange.res)
    await settle()
    bus.end()
    await within(done, 'serveSse to settle')
    for (const [name, count] of Object.entries(listenerCounts(exchange))) {
      expect(count, name).toBeLessThanOrEqual(before[name] ?? 0)
    }
  })

  it('lets the next request of the same connection come, where the protocol has streams', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, {}, { http2: true })
    for (let n = 0; n < 3; n++) {
      const client = await http2Open(server.port)
      await until(() => bus.subscriberCount === 1)
      client.leave()
      await until(() => bus.subscriberCount === 0)
    }
  })
})
