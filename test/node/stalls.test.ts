import { describe, expect, it } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { heard, type RawClient } from '../support/http-client.ts'
import { fakeExchange } from '../support/http-fakes.ts'
import {
  type CloseInfo,
  fakeClock,
  hearMarker,
  jam,
  makeBus,
  publishNotes,
  type SseOptions,
  serveBus,
} from '../support/http-surfaces.ts'
import { idsFrom } from '../support/http-transcript.ts'
import { elapsed, pause, settle, until, within } from '../support/until.ts'

const LARGE = 'x'.repeat(65_536)

function noted(options: SseOptions = {}) {
  const closes: CloseInfo[] = []
  return { closes, options: { ...options, onClose: (info: CloseInfo) => closes.push(info) } }
}

describe('a client that stops reading', () => {
  const stuck = async (options: SseOptions) => {
    const bus = makeBus()
    const { closes, options: all } = noted({ maxQueued: 100_000, heartbeatMs: 0, ...options })
    const server = await serveBus(bus, all)
    const client: RawClient = await server.open()
    await heard(client, (t) => t.cursors.length > 0)
    client.stopReading()
    const { res } = await server.exchange()
    await jam(bus, res)
    return { bus, client, closes, res, server }
  }

  it('is destroyed once nothing has moved for `stallTimeoutMs`', async () => {
    const { bus, client, closes, server } = await stuck({ stallTimeoutMs: 100 })
    await until(() => closes.length > 0)
    expect(closes.map(({ reason }) => reason)).toEqual(['stalled'])
    expect(bus.subscriberCount).toBe(0)
    await within((await server.exchange()).done, 'serveSse to settle')
    client.readOn()
    await until(() => client.closed)
    expect(client.ended).toBe(false)
  })

  it('is given 30 s by default', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const { closes, options } = noted({ maxQueued: 100_000, heartbeatMs: 0 })
    const exchange = fakeExchange({ open: false })
    const done = serveSse(bus, exchange.req, exchange.res, options)
    publishNotes(bus, 4, LARGE)
    await settle()
    await clock.pass(29_000)
    expect(closes).toEqual([])
    await clock.pass(31_500)
    await within(done, 'serveSse to settle')
    expect(closes.map(({ reason }) => reason)).toEqual(['stalled'])
    expect(exchange.socket.destroyed).toBe(true)
  })

  it.each([0, Infinity])('is never destroyed with `stallTimeoutMs: %d`', async (stallTimeoutMs) => {
    const clock = fakeClock()
    const bus = makeBus()
    const { closes, options } = noted({ maxQueued: 100_000, stallTimeoutMs })
    const exchange = fakeExchange({ open: false })
    const done = serveSse(bus, exchange.req, exchange.res, options)
    publishNotes(bus, 4, LARGE)
    await settle()
    await clock.pass(300_000)
    expect(closes).toEqual([])
    exchange.socket.open()
    await until(() => exchange.socket.received.ids.length === 4)
    exchange.socket.destroy()
    await done
  })

  it('and is evicted meanwhile is destroyed within the same bound', async () => {
    const { bus, client, closes } = await stuck({ stallTimeoutMs: 150, maxQueued: 64 })
    publishNotes(bus, 100, LARGE)
    expect(bus.stats().evicted).toBe(1)
    expect(bus.subscriberCount).toBe(0)
    await until(() => closes.length > 0)
    expect(['stalled', 'evicted']).toContain(closes[0]?.reason)
    client.readOn()
    await until(() => client.closed)
    expect(client.ended).toBe(false)
  })

  it('and whose few bytes fit the buffer is found out as well: a small write never returns false', async () => {
    const bus = makeBus()
    const { closes, options } = noted({ stallTimeoutMs: 100, heartbeatMs: 0 })
    const exchange = fakeExchange({ open: false, highWaterMark: 1_000_000 })
    const done = serveSse(bus, exchange.req, exchange.res, options)
    publishNotes(bus, 1)
    await within(done, 'serveSse to settle')
    expect(closes.map(({ reason }) => reason)).toEqual(['stalled'])
  })

  it('is found out though heartbeats go on being written', async () => {
    const bus = makeBus()
    const { closes, options } = noted({ stallTimeoutMs: 200, heartbeatMs: 20 })
    const exchange = fakeExchange({ open: false, highWaterMark: 1_000_000 })
    const done = serveSse(bus, exchange.req, exchange.res, options)
    publishNotes(bus, 1)
    await within(done, 'serveSse to settle')
    expect(closes.map(({ reason }) => reason)).toEqual(['stalled'])
  })

  it('when the response has been ended is found out too', async () => {
    const bus = makeBus()
    const { closes, options } = noted({ stallTimeoutMs: 100, heartbeatMs: 0, closeTimeoutMs: 60_000 })
    const exchange = fakeExchange({ open: false })
    const done = serveSse(bus, exchange.req, exchange.res, options)
    publishNotes(bus, 2)
    bus.end()
    await within(done, 'serveSse to settle')
    expect(closes).toHaveLength(1)
    expect(exchange.socket.destroyed).toBe(true)
  })
})

describe('a client that reads', () => {
  it('slowly, but takes something within each bound, is never destroyed', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const { closes, options } = noted({ stallTimeoutMs: 1000, heartbeatMs: 0 })
    const exchange = fakeExchange({ highWaterMark: 1024 })
    const done = serveSse(bus, exchange.req, exchange.res, options)
    await until(() => exchange.socket.received.cursors.length > 0)
    exchange.socket.shut()
    publishNotes(bus, 20, 'x'.repeat(60_000))
    for (let n = 0; n < 30; n++) {
      await settle()
      await clock.pass(700)
      expect(closes).toEqual([])
      exchange.socket.takeOne()
    }
    exchange.socket.open()
    await until(() => exchange.socket.received.ids.length === 20)
    exchange.socket.destroy()
    await done
  })

  it('a single frame for longer than the bound, but takes some of it all the time, is never destroyed', async () => {
    const bus = makeBus()
    const { closes, options } = noted({ stallTimeoutMs: 1000, heartbeatMs: 0 })
    const server = await serveBus(bus, options)
    const client = await server.open()
    await heard(client, (t) => t.cursors.length > 0)
    client.stopReading()
    publishNotes(bus, 1, 'x'.repeat(32 * 1_048_576))
    const took = await elapsed(async () => {
      for (let n = 0; n < 12; n++) {
        await client.readSome(524_288)
        await pause(90)
      }
    })
    expect(took).toBeGreaterThan(1000)
    client.readOn()
    await until(() => client.transcript.ids.length === 1 || client.closed, 'the frame')
    expect(closes).toEqual([])
    expect(client.transcript.ids).toEqual([1])
  })

  it('and has everything is never destroyed, however long nothing is published', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const { closes, options } = noted({ stallTimeoutMs: 50, heartbeatMs: 0 })
    const server = await serveBus(bus, options)
    const client = await server.open()
    await heard(client, (t) => t.cursors.length > 0)
    await settle()
    await clock.pass(60_000)
    publishNotes(bus, 5)
    await heard(client, (t) => t.ids.length === 5)
    await settle()
    await clock.pass(60_000)
    await hearMarker(bus, client)
    expect(client.transcript.ids).toEqual(idsFrom(1, 6))
    expect(closes).toEqual([])
  })
})
