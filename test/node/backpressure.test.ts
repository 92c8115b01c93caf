import { OutgoingMessage, type ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { fakeExchange, listenerCounts } from '../support/http-fakes.ts'
import { spyOnWrites } from '../support/http-server.ts'
import { type CloseInfo, fakeClock, makeBus, publishNotes, serveBus } from '../support/http-surfaces.ts'
import { idsFrom } from '../support/http-transcript.ts'
import { settle, until, within } from '../support/until.ts'

const FRAME = 'x'.repeat(4096)
const WRITE_LIMIT = 65_536

/** Makes every later write of a response say that its buffer is full. */
function alwaysFull(res: ServerResponse): string[] {
  const writes: string[] = []
  res.write = ((chunk: unknown) => {
    writes.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array).toString())
    return false
  }) as typeof res.write
  return writes
}

describe('a write that returns false', () => {
  it('is followed by no other, not even a heartbeat, before the buffer has drained', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const exchange = fakeExchange()
    const writes = alwaysFull(exchange.res)
    const done = serveSse(bus, exchange.req, exchange.res, { heartbeatMs: 10, stallTimeoutMs: 0 })
    await until(() => writes.length === 1)
    publishNotes(bus, 3)
    await clock.pass(500)
    await settle()
    expect(writes).toHaveLength(1)
    exchange.res.emit('drain')
    await until(() => writes.length === 2)
    expect(writes[1]?.match(/^id: /gm)?.length).toBeGreaterThanOrEqual(3)
    await clock.pass(500)
    expect(writes).toHaveLength(2)
    exchange.socket.destroy()
    await done
  })

  it('is followed by no further heartbeat, where it was one itself', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const exchange = fakeExchange()
    const done = serveSse(bus, exchange.req, exchange.res, { heartbeatMs: 10, stallTimeoutMs: 0 })
    await until(() => exchange.socket.received.cursors.length > 0)
    await settle()
    const writes = alwaysFull(exchange.res)
    await clock.pass(500)
    expect(writes).toHaveLength(1)
    expect(writes[0]).toMatch(/^: /)
    exchange.socket.destroy()
    await done
  })

  it('is not a disconnect: all forty frames reach a slow reader in order, and no buffer grows past a write', async () => {
    const bus = makeBus({ maxQueued: 1000 })
    const server = await serveBus(bus, {}, { highWaterMark: 1024 })
    const client = await server.open({ headers: { 'Last-Event-ID': '0' } })
    const { res } = await server.exchange()
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, res.writableLength)
    }, 1)
    client.stopReading()
    for (let n = 1; n <= 40; n++) {
      publishNotes(bus, 1, FRAME)
      if (n % 4 === 0) await client.readSome(4096)
    }
    client.readOn()
    await until(() => client.transcript.ids.length === 40)
    clearInterval(watch)
    expect(client.transcript.ids).toEqual(idsFrom(1, 40))
    expect(most).toBeLessThanOrEqual(1024 + WRITE_LIMIT + 1024)
  })

  it('stops the adapter from taking more: what a stuck client has not been sent stays in its bounded queue', async () => {
    const bus = makeBus()
    const exchange = fakeExchange({ open: false, highWaterMark: 1024 })
    const writes = spyOnWrites(exchange.res)
    const done = serveSse(bus, exchange.req, exchange.res, {
      maxQueued: 100,
      stallTimeoutMs: 0,
      heartbeatMs: 0,
    })
    await settle()
    for (let n = 0; n < 50; n++) {
      publishNotes(bus, 1, FRAME)
      if (n % 10 === 0) await settle(1)
    }
    await settle()
    expect(bus.stats().subscribers[0]?.queued).toBeGreaterThan(25)
    expect(exchange.res.writableLength).toBeLessThanOrEqual(1024 + WRITE_LIMIT + FRAME.length)
    expect(Math.max(...writes.map((write) => write.length))).toBeLessThanOrEqual(WRITE_LIMIT)
    exchange.socket.open()
    await until(() => exchange.socket.received.ids.length === 50)
    expect(exchange.socket.received.ids).toEqual(idsFrom(1, 50))
    exchange.socket.destroy()
    await done
  })

  it('after the first drain does not latch: the stream goes on drain after drain', async () => {
    const bus = makeBus()
    const exchange = fakeExchange({ open: false, highWaterMark: 64 })
    const done = serveSse(bus, exchange.req, exchange.res, { heartbeatMs: 0 })
    for (let n = 1; n <= 30; n++) {
      publishNotes(bus, 1)
      await settle(1)
      while (exchange.socket.takeOne()) await settle(1)
    }
    exchange.socket.open()
    await until(() => exchange.socket.received.ids.length === 30)
    exchange.socket.destroy()
    await done
  })
})

describe('a connection that ends while a write waits for drain', () => {
  const waiting = async () => {
    const bus = makeBus()
    const exchange = fakeExchange()
    const before = listenerCounts(exchange)
    const writes = alwaysFull(exchange.res)
    const closes: CloseInfo[] = []
    const done = serveSse(bus, exchange.req, exchange.res, { onClose: (info) => closes.push(info) })
    await until(() => writes.length === 1)
    publishNotes(bus, 5)
    return { bus, exchange, before, closes, done, writes }
  }
  const noneLeft = (after: Record<string, number>, before: Record<string, number>) => {
    for (const [name, count] of Object.entries(after)) {
      expect(count, name).toBeLessThanOrEqual(before[name] ?? 0)
    }
  }

  it.each(['close', 'error', 'close and error'])(
    'settles the adapter at once: the response emits %s',
    async (how) => {
      const { bus, exchange, before, closes, done } = await waiting()
      // Somebody else has to listen for 'error', or Node throws it at the emitter, whatever the adapter does later.
      exchange.res.on('error', () => {})
      before['res error'] = (before['res error'] ?? 0) + 1
      if (how.includes('close')) exchange.res.emit('close')
      if (how.includes('error')) exchange.res.emit('error', new Error('EPIPE'))
      await within(done, 'serveSse to settle')
      expect(bus.subscriberCount).toBe(0)
      await settle()
      expect(closes).toHaveLength(1)
      noneLeft(listenerCounts(exchange), before)
    },
  )

  it('settles the adapter when the socket is destroyed', async () => {
    const { bus, exchange, before, closes, done } = await waiting()
    exchange.socket.destroy()
    await within(done, 'serveSse to settle')
    expect(bus.subscriberCount).toBe(0)
    expect(closes).toHaveLength(1)
    noneLeft(listenerCounts(exchange), before)
  })

  it('before the wait began does not keep the adapter waiting', async () => {
    const bus = makeBus()
    const exchange = fakeExchange()
    const before = listenerCounts(exchange)
    const { res, socket } = exchange
    // Each write finds that the connection has gone, and says so only by returning false.
    res.write = (() => {
      if (!socket.destroyed) {
        socket.destroy()
        res.destroyed = true
        res.emit('close')
      }
      return false
    }) as typeof res.write
    await within(serveSse(bus, exchange.req, res), 'serveSse to settle')
    expect(bus.subscriberCount).toBe(0)
    noneLeft(listenerCounts(exchange), before)
  })

  it('during a write that throws frees the subscriber, and throws at nobody', async () => {
    const bus = makeBus()
    const exchange = fakeExchange()
    const done = serveSse(bus, exchange.req, exchange.res)
    await settle()
    exchange.res.write = (() => {
      throw new Error('write after end')
    }) as typeof exchange.res.write
    publishNotes(bus, 1)
    await within(done, 'serveSse to settle')
    expect(bus.subscriberCount).toBe(0)
  })
})

describe('`res.flush`', () => {
  it('is called behind every write, where middleware added it', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const exchange = fakeExchange()
    const calls: string[] = []
    const { write } = exchange.res
    exchange.res.write = function (this: ServerResponse, ...args: unknown[]) {
      calls.push('write')
      return (write as (...args: unknown[]) => boolean).apply(this, args)
    } as typeof write
    Object.assign(exchange.res, { flush: () => calls.push('flush') })
    const done = serveSse(bus, exchange.req, exchange.res, { heartbeatMs: 100 })
    await until(() => calls.includes('flush'))
    publishNotes(bus, 2)
    await settle()
    await clock.pass(250)
    await until(() => exchange.socket.received.comments.length > 0)
    await settle()
    const writes = calls.filter((call) => call === 'write').length
    expect(writes).toBeGreaterThanOrEqual(3)
    expect(calls.at(-1)).toBe('flush')
    expect(calls.join(' ')).not.toContain('write write')
    exchange.socket.destroy()
    await done
  })

  it('is not called on a bare response, where it is deprecated', async () => {
    const bus = makeBus()
    const exchange = fakeExchange()
    let calls = 0
    const prototype = OutgoingMessage.prototype as { flush?: () => void }
    const inherited = prototype.flush
    prototype.flush = () => {
      calls++
    }
    try {
      const done = serveSse(bus, exchange.req, exchange.res)
      publishNotes(bus, 2)
      await until(() => exchange.socket.received.ids.length === 2)
      exchange.socket.destroy()
      await done
    } finally {
      if (inherited === undefined) delete prototype.flush
      else prototype.flush = inherited
    }
    expect(calls).toBe(0)
  })
})
