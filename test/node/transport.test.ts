import { describe, expect, it } from 'vitest'
import { sseTransport, type TransportStream } from '../../src/node/index.ts'
import { ended } from '../support/http-client.ts'
import { fakeExchange, listenerCounts } from '../support/http-fakes.ts'
import { serve, spyOnWrites } from '../support/http-server.ts'
import { fakeClock, http2Open } from '../support/http-surfaces.ts'
import { isWholeFrames } from '../support/http-transcript.ts'
import { settle, until, within } from '../support/until.ts'

const outcome = (sending: void | Promise<void>) =>
  Promise.resolve(sending).then(
    () => 'sent',
    () => 'rejected',
  )

describe('a transport on a Node response', () => {
  it('awaits the client: a send waits while the buffer is full, and resolves once it has drained', async () => {
    const { req, res, socket } = fakeExchange({ open: false, highWaterMark: 1024 })
    const transport = sseTransport(req, res, { heartbeatMs: 0, stallTimeoutMs: 0 })
    let sent = false
    const sending = Promise.resolve(transport.send('x'.repeat(100_000), 1)).then(() => {
      sent = true
    })
    await settle(5)
    expect(sent).toBe(false)
    socket.open()
    await within(sending, 'the send')
    expect(socket.received.ids).toEqual([1])
    transport.close()
    await within(transport.closed, '`closed`')
  })

  it('rejects the sends that wait when the client goes', async () => {
    const { req, res, socket } = fakeExchange({ open: false, highWaterMark: 1024 })
    const transport = sseTransport(req, res, { stallTimeoutMs: 0 })
    const sends = [1, 2, 3].map((n) => outcome(transport.send('x'.repeat(100_000), n)))
    await settle()
    socket.destroy()
    for (const sending of sends) expect(await within(sending, 'a send')).toBe('rejected')
    await within(transport.closed, '`closed`')
    expect(transport.isClosed).toBe(true)
  })

  it('is closed, and its response destroyed, when nothing has moved for `stallTimeoutMs`', async () => {
    const { req, res, socket } = fakeExchange({ open: false, highWaterMark: 1024 })
    const transport = sseTransport(req, res, { stallTimeoutMs: 100, heartbeatMs: 0 })
    const sending = outcome(transport.send('x'.repeat(100_000), 1))
    await within(transport.closed, '`closed`')
    expect(socket.destroyed).toBe(true)
    expect(await within(sending, 'the send')).toBe('rejected')
  })

  it('that was closed cuts off a client that takes nothing for half a second: `server.close()` waits for it', async () => {
    const clock = fakeClock()
    const { req, res, socket } = fakeExchange({ open: false, highWaterMark: 1024 })
    const transport = sseTransport(req, res, { heartbeatMs: 0, stallTimeoutMs: 0 })
    const sending = outcome(transport.send('x'.repeat(100_000), 1))
    await clock.pass(60_000)
    transport.close('bus_closed')
    await clock.pass(499)
    expect(socket.destroyed).toBe(false)
    await clock.pass(1)
    expect(socket.destroyed).toBe(true)
    expect(await sending).toBe('rejected')
    transport.close()
    await clock.pass(0)
    expect(clock.timers).toBe(0)
  })

  it('that was closed gives a slow client all that was sent before', async () => {
    const clock = fakeClock()
    const { req, res, socket } = fakeExchange({ open: false, highWaterMark: 1024 })
    const transport = sseTransport(req, res, { heartbeatMs: 0, stallTimeoutMs: 0 })
    const sends = [1, 2, 3, 4, 5].map((n) => outcome(transport.send('x'.repeat(100_000), n)))
    transport.close('done')
    for (let n = 0; n < 20; n++) {
      await clock.pass(400)
      socket.takeOne()
    }
    expect(await Promise.all(sends)).toEqual(Array(5).fill('sent'))
    expect(socket.received.ids).toEqual([1, 2, 3, 4, 5])
    expect(socket.received.text).toContain('"code":"done"')
    await transport.closed
    await clock.pass(0)
    expect(clock.timers).toBe(0)
  })

  it('over HTTP/2 says good-bye to a client once the bus is closed, and only then', async () => {
    const transports: TransportStream[] = []
    const server = await serve(
      (req, res) => {
        const transport = sseTransport(req, res)
        transports.push(transport)
        return transport.closed
      },
      { http2: true },
    )
    const first = await http2Open(server.port)
    transports[0]?.close('session_taken_over')
    await ended(first)
    expect(first.session.closed).toBe(false)
    const second = await http2Open(server.port)
    transports[1]?.close('bus_closed')
    await ended(second)
    await until(() => second.session.closed)
    first.session.close()
    await within(new Promise((resolve) => server.server.close(resolve)), 'server.close()')
  })

  it('writes whole frames', async () => {
    const { req, res, socket } = fakeExchange()
    const writes = spyOnWrites(res)
    const transport = sseTransport(req, res)
    for (let n = 1; n <= 30; n++) void transport.send({ text: 'line\nline'.repeat(n) }, n)
    await until(() => socket.received.ids.length === 30)
    expect(writes.every(isWholeFrames)).toBe(true)
    transport.close()
    await within(transport.closed, '`closed`')
  })

  it('leaves no listener behind', async () => {
    const exchange = fakeExchange()
    const before = listenerCounts(exchange)
    const transport = sseTransport(exchange.req, exchange.res)
    await transport.send({}, 1)
    transport.close()
    await within(transport.closed, '`closed`')
    for (const [name, count] of Object.entries(listenerCounts(exchange))) {
      expect(count, name).toBeLessThanOrEqual(before[name] ?? 0)
    }
  })

  it('on a response that is over is closed from the start', async () => {
    const { req, res, socket } = fakeExchange()
    socket.destroy()
    await until(() => res.destroyed)
    const transport = sseTransport(req, res)
    await within(transport.closed, '`closed`')
    expect(await outcome((async () => transport.send({}, 1))())).toBe('rejected')
  })

  it('throws for a bad option, with the response untouched', async () => {
    const server = await serve((req, res) => {
      expect(() => sseTransport(req, res, { heartbeatMs: -1 })).toThrow(RangeError)
      expect(() => sseTransport(req, res, { headers: { Connection: 'close' } })).toThrow(TypeError)
      expect(() => sseTransport(req, res, { epoch: 'a:b' })).toThrow(/epoch/)
      expect(() => sseTransport(null as never, res)).toThrow(TypeError)
      expect(() => sseTransport(req, null as never)).toThrow(TypeError)
      expect(res.headersSent).toBe(false)
      res.statusCode = 418
      res.end()
    })
    expect((await server.open()).status).toBe(418)
  })

  it('frees everything when the client half-closes', async () => {
    const server = await serve((req, res) => sseTransport(req, res).closed)
    const client = await server.open()
    client.halfClose()
    await until(() => server.exchanges[0]?.settled === true, '`closed`', 1000)
  })
})

describe('a transport whose response is written to by middleware', () => {
  it('settles a send from whose write another one is sent', async () => {
    const { req, res, socket } = fakeExchange()
    const write = res.write.bind(res) as (...given: unknown[]) => boolean
    const transport = sseTransport(req, res, { heartbeatMs: 0 })
    await until(() => socket.received.items.length > 0)
    let inner: Promise<void> | undefined
    res.write = ((...given: unknown[]) => {
      res.write = write as typeof res.write
      inner = transport.send('inner') as Promise<void>
      return write(...given)
    }) as typeof res.write
    const outer = transport.send('outer') as Promise<void>
    await within(outer, 'the outer send', 500)
    await within(inner as unknown as Promise<void>, 'the inner send', 500)
    await until(() => socket.received.payloads.length === 2)
    expect(socket.received.payloads).toEqual(['outer', 'inner'])
  })
})
