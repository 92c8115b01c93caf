import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { heard } from '../support/http-client.ts'
import { fakeExchange } from '../support/http-fakes.ts'
import { spyOnWrites } from '../support/http-server.ts'
import { makeBus, publishNotes, type SseOptions, serveBus } from '../support/http-surfaces.ts'
import { idsFrom, isWholeFrames } from '../support/http-transcript.ts'
import { settle, until } from '../support/until.ts'

const LIMIT = 65_536
const framesIn = (write: string) => write.match(/^id: /gm)?.length ?? 0

/** A stream whose writes are seen one by one. */
async function watched(bus = makeBus(), options: SseOptions = {}, lastEventId?: string) {
  const exchange = fakeExchange(
    lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } },
  )
  const writes = spyOnWrites(exchange.res)
  const done = serveSse(bus, exchange.req, exchange.res, options)
  await until(() => writes.length > 0)
  await settle()
  return {
    bus,
    writes,
    transcript: exchange.socket.received,
    end: async () => {
      exchange.socket.destroy()
      await done
    },
  }
}

describe('a write', () => {
  it('carries all frames that are ready together', async () => {
    const { bus, writes, transcript, end } = await watched()
    const before = writes.length
    publishNotes(bus, 16)
    await until(() => transcript.ids.length === 16)
    expect(writes.slice(before).map(framesIn)).toEqual([16])
    await end()
  })

  it('carries one frame where one is ready', async () => {
    const { bus, writes, transcript, end } = await watched()
    const before = writes.length
    for (let n = 1; n <= 3; n++) {
      publishNotes(bus, 1)
      await until(() => transcript.ids.length === n)
    }
    expect(writes.slice(before).map(framesIn)).toEqual([1, 1, 1])
    await end()
  })

  it('carries as much of a replay as fits 64 KiB, and no more', async () => {
    const bus = makeBus()
    publishNotes(bus, 200, 'x'.repeat(1000))
    const { writes, transcript, end } = await watched(bus, {}, 'e1:0')
    await until(() => transcript.control('replay_complete').length > 0)
    expect(transcript.ids).toEqual(idsFrom(1, 200))
    for (const write of writes) expect(Buffer.byteLength(write)).toBeLessThanOrEqual(LIMIT)
    // 200 frames of about 1.1 KB are four writes of 64 KiB; a few more for the head, the tail and the rounding.
    expect(writes.length).toBeLessThanOrEqual(8)
    await end()
  })

  it('counts bytes, not characters', async () => {
    const { bus, writes, transcript, end } = await watched()
    publishNotes(bus, 40, '€'.repeat(3000))
    await until(() => transcript.ids.length === 40)
    for (const write of writes) expect(Buffer.byteLength(write)).toBeLessThanOrEqual(LIMIT)
    await end()
  })

  it('carries a larger frame whole and alone', async () => {
    const { bus, writes, transcript, end } = await watched()
    const before = writes.length
    publishNotes(bus, 1)
    publishNotes(bus, 1, 'x'.repeat(200_000))
    publishNotes(bus, 1)
    await until(() => transcript.ids.length === 3)
    const large = writes.slice(before).filter((write) => Buffer.byteLength(write) > LIMIT)
    expect(large.map(framesIn)).toEqual([1])
    expect(writes.every(isWholeFrames)).toBe(true)
    await end()
  })

  it('is made of whole frames, whatever else goes on', async () => {
    const bus = makeBus({ maxQueued: 2000 })
    let random = 1
    const exchange = fakeExchange()
    const writes: string[] = []
    const { res } = exchange
    const write = res.write.bind(res) as (...args: unknown[]) => boolean
    res.write = ((...args: unknown[]) => {
      const chunk = args[0] as string | Uint8Array
      writes.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
      const more = write(...args)
      random = (random * 16_807) % 2_147_483_647
      if (random % 3 > 0) return more
      setImmediate(() => res.emit('drain'))
      return false
    }) as ServerResponse['write']
    const done = serveSse(bus, exchange.req, res, { heartbeatMs: 1 })
    for (let n = 0; n < 1000; n++) {
      publishNotes(bus, 1, `line\nline\r\nline ${'€'.repeat(n % 50)}`)
      if (n % 10 === 0) await settle(1)
    }
    await until(() => exchange.socket.received.ids.length === 1000)
    await until(() => exchange.socket.received.comments.length > 0)
    expect(writes.filter((text) => !isWholeFrames(text))).toEqual([])
    expect(exchange.socket.received.ids).toEqual(idsFrom(1, 1000))
    exchange.socket.destroy()
    await done
  })

  it('is the same bytes for each of ten clients', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, { retryMs: 0 })
    const clients = await Promise.all(idsFrom(1, 10).map(() => server.open()))
    await Promise.all(clients.map((client) => heard(client, (t) => t.cursors.length > 0)))
    publishNotes(bus, 20, 'ä€𝄞')
    await Promise.all(clients.map((client) => heard(client, (t) => t.ids.length === 20)))
    expect(new Set(clients.map((client) => client.transcript.text)).size).toBe(1)
  })
})

describe('a replay to a client that reads nothing', () => {
  it('holds no more than one write in memory, however much is retained', async () => {
    const bus = makeBus()
    publishNotes(bus, 1000, 'x'.repeat(10_240))
    const exchange = fakeExchange({ open: false, headers: { 'last-event-id': '0' } })
    const writes = spyOnWrites(exchange.res)
    const done = serveSse(bus, exchange.req, exchange.res, { stallTimeoutMs: 0 })
    await settle(10)
    expect(exchange.res.writableLength).toBeLessThanOrEqual(16_384 + LIMIT + 11_000)
    expect(writes.every((write) => Buffer.byteLength(write) <= LIMIT)).toBe(true)
    exchange.socket.destroy()
    await done
  })

  it.each([10_240, 200_000])(
    'moves on with each reconnect, though it is cut each time (frames of %i bytes)',
    async (size) => {
      const bus = makeBus()
      publishNotes(bus, 100, 'x'.repeat(size))
      const server = await serveBus(bus, { stallTimeoutMs: 0 })
      let cursor = 'e1:0'
      for (let attempt = 1; attempt <= 4; attempt++) {
        const client = server.connect({ headers: { 'Last-Event-ID': cursor } }).cutAfter(size + 66_000)
        await until(() => client.closed)
        const reached = client.transcript.cursor as string
        expect(Number(reached.split(':')[1])).toBeGreaterThan(Number(cursor.split(':')[1]))
        cursor = reached
      }
    },
  )
})
