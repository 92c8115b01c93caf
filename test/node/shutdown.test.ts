import type { Server } from 'node:http'
import { describe, expect, it } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { ended, heard, over } from '../support/http-client.ts'
import { fakeExchange } from '../support/http-fakes.ts'
import {
  type CloseInfo,
  fakeClock,
  http2Open,
  jam,
  makeBus,
  publishNotes,
  type SseOptions,
  serveBus,
} from '../support/http-surfaces.ts'
import { elapsed, settle, until, within } from '../support/until.ts'

const closeServer = (server: Server) => new Promise<void>((resolve) => server.close(() => resolve()))
const keepAlive = { headers: { Connection: 'keep-alive' } }

describe('`bus.close()` and `server.close()`', () => {
  it.each([
    ['bus first', true],
    ['server first', false],
  ])(
    'together return within a second, clients on keep-alive connections included (%s)',
    async (_name, busFirst) => {
      const bus = makeBus()
      const server = await serveBus(bus)
      const clients = [
        await server.open(keepAlive),
        await server.open(keepAlive),
        await server.open(keepAlive),
      ]
      for (const client of clients) await heard(client, (t) => t.cursors.length > 0)
      publishNotes(bus, 2)
      const took = await elapsed(async () => {
        if (busFirst) bus.close()
        const closed = closeServer(server.server as Server)
        if (!busFirst) bus.close()
        await within(closed, 'server.close()')
      })
      expect(took).toBeLessThan(1000)
      for (const client of clients) {
        await ended(client)
        expect(client.transcript.ids).toEqual([1, 2])
      }
    },
  )

  it('return within a second though a client has stopped reading', async () => {
    const bus = makeBus({ maxQueued: 100_000 })
    const server = await serveBus(bus)
    const stuck = await server.open()
    await heard(stuck, (t) => t.cursors.length > 0)
    stuck.stopReading()
    const { res } = await server.exchange()
    await jam(bus, res)
    const took = await elapsed(async () => {
      const closed = closeServer(server.server as Server)
      bus.close()
      await within(closed, 'server.close()')
    })
    expect(took).toBeLessThan(1000)
    expect(bus.subscriberCount).toBe(0)
  })

  it('return over HTTP/2 as well', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, {}, { http2: true })
    const client = await http2Open(server.port)
    await heard(client, (t) => t.cursors.length > 0)
    bus.close()
    await ended(client)
    client.session.close()
    await within(closeServer(server.server as unknown as Server), 'server.close()')
  })
})

describe('`closeTimeoutMs`', () => {
  const stuck = async (options: SseOptions) => {
    const clock = fakeClock()
    const bus = makeBus()
    const closes: CloseInfo[] = []
    const exchange = fakeExchange({ open: false })
    const done = serveSse(bus, exchange.req, exchange.res, {
      heartbeatMs: 0,
      ...options,
      onClose: (info) => closes.push(info),
    })
    await settle()
    publishNotes(bus, 100, 'x'.repeat(10_000))
    await settle()
    return { bus, clock, exchange, done, closes }
  }

  it('is how long a closed bus waits for a client to take what is left: 500 ms', async () => {
    const { bus, clock, exchange, done, closes } = await stuck({})
    bus.close()
    await settle()
    await clock.pass(450)
    await settle()
    expect(exchange.socket.destroyed).toBe(false)
    await clock.pass(100)
    await within(done, 'serveSse to settle')
    expect(exchange.socket.destroyed).toBe(true)
    expect(closes).toHaveLength(1)
    expect(closes[0]?.reason).toBe('closed')
  })

  it('0 destroys at once', async () => {
    const { bus, exchange, done } = await stuck({ closeTimeoutMs: 0 })
    bus.close()
    await within(done, 'serveSse to settle')
    expect(exchange.socket.destroyed).toBe(true)
  })

  it('is not used up where the client reads: everything queued arrives', async () => {
    const { bus, exchange, done } = await stuck({})
    bus.close()
    await settle()
    exchange.socket.open()
    await within(done, 'serveSse to settle')
    expect(exchange.socket.received.ids).toHaveLength(100)
    expect(exchange.res.writableFinished).toBe(true)
  })

  it('bounds a replay, too', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    publishNotes(bus, 1000, 'x'.repeat(10_000))
    const exchange = fakeExchange({ open: false, headers: { 'last-event-id': '0' } })
    const done = serveSse(bus, exchange.req, exchange.res, { stallTimeoutMs: 0 })
    await settle()
    bus.close()
    await settle()
    await clock.pass(600)
    await within(done, 'serveSse to settle')
    expect(exchange.socket.destroyed).toBe(true)
  })
})

describe('`bus.close()` ends the response of a client that has stopped reading, in time, also where its stream', () => {
  type Stuck = {
    bus: ReturnType<typeof makeBus>
    exchange: ReturnType<typeof fakeExchange>
    abort: () => void
  }
  const states: Record<string, (stuck: Stuck) => unknown> = {
    'was being replayed': () => {},
    'had been ended with its bus': ({ bus }) => bus.end(),
    'had been aborted': ({ abort }) => abort(),
    'had been evicted': ({ bus }) => {
      publishNotes(bus, 300)
      expect(bus.stats().evicted).toBe(1)
    },
    'had been outrun and gone on': async ({ bus, exchange }) => {
      publishNotes(bus, 300)
      exchange.socket.open()
      const { received } = exchange.socket
      await until(() => received.control('replay_complete').length > 0)
      expect(bus.stats().evicted).toBe(1)
      exchange.socket.shut()
      publishNotes(bus, 100, 'x'.repeat(10_000))
    },
  }

  it.each(Object.entries(states))('%s', async (_name, reach) => {
    const clock = fakeClock()
    const bus = makeBus()
    publishNotes(bus, 500, 'x'.repeat(10_000))
    const controller = new AbortController()
    const exchange = fakeExchange({ open: false, headers: { 'last-event-id': '0' } })
    const options = { stallTimeoutMs: 0, heartbeatMs: 0, signal: controller.signal }
    const done = serveSse(bus, exchange.req, exchange.res, options)
    await settle()
    await reach({ bus, exchange, abort: () => controller.abort() })
    await settle()
    bus.close()
    await settle()
    await clock.pass(600)
    await within(done, 'serveSse to settle')
    expect(exchange.socket.destroyed).toBe(true)
    expect(clock.timers).toBe(0)
  })
})

describe('the end of a stream', () => {
  it('closes an HTTP/1.1 connection, so that it does not linger as a keep-alive one', async () => {
    const bus = makeBus()
    const server = await serveBus(bus)
    const client = await server.open(keepAlive)
    await heard(client, (t) => t.cursors.length > 0)
    bus.close()
    await over(client)
    await until(() => client.closed, 'the connection to close', 1500)
    expect(client.ended).toBe(true)
  })

  it('comes within the bound for a hundred clients', async () => {
    const bus = makeBus()
    const server = await serveBus(bus)
    const clients = await Promise.all(Array.from({ length: 100 }, () => server.open(keepAlive)))
    await until(() => bus.subscriberCount === 100)
    publishNotes(bus, 3)
    bus.close()
    const took = await elapsed(() => within(closeServer(server.server as Server), 'server.close()'))
    expect(took).toBeLessThan(1000)
    for (const client of clients) await ended(client)
  })
})
