import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createParser } from 'eventsource-parser'
import { expect, it, onTestFinished, vi } from 'vitest'
import { connectBus } from '../../src/client/index.ts'
import type { BusEvent, BusLike, Frame } from '../../src/index.ts'
import { serveSse } from '../../src/node/index.ts'
import { read } from '../conformance/world.ts'
import { complete, range } from '../support/frames.ts'
import { KEY, lagging, node, pair, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until, within } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

/** The address of the bus over HTTP. */
async function served(bus: BusLike): Promise<string> {
  const server = createServer((req, res) => void serveSse(bus, req, res, { retryMs: 0, closeTimeoutMs: 0 }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** A client that goes on until the test is over. */
function connected(url: string, lastEventId?: string) {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  return connectBus(url, { lastEventId, signal: controller.signal, retryMs: 0 })
}

/** Every id that a browser's `EventSource` would take as its own. */
function ids(url: string, lastEventId: string): string[] {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const seen: string[] = []
  const readAll = async () => {
    const { body } = await fetch(url, {
      headers: { 'last-event-id': lastEventId },
      signal: controller.signal,
    })
    const parser = createParser({ onId: (id) => seen.push(id) })
    for await (const text of (body as ReadableStream).pipeThrough(new TextDecoderStream())) parser.feed(text)
  }
  readAll().catch(() => {})
  return seen
}

describeOnRedis('`serveSse` on two nodes', () => {
  it('gives each client the blocks of one stream, with the cursor of one epoch', async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const { epoch } = a.bus
    const [toA, toB] = [await served(a.bus), await served(b.bus)]
    await publish(a.bus, 3)
    const first = connected(toA, `${epoch}:0`)
    expect(await read(first, 4)).toEqual([1, 2, 3, complete(3, 3)])
    expect(first.cursor).toBe(`${epoch}:3`)
    await first.return()
    await publish(b.bus, 2)
    const second = connected(toB, first.cursor)
    expect(await read(second, 3)).toEqual([4, 5, complete(2, 5)])
    await publish(a.bus, 1)
    expect(await read(second, 1)).toEqual([6])
    expect(second.cursor).toBe(`${epoch}:6`)
  })

  it('never moves a client back that comes to a node which is behind', async () => {
    const server = await RedisServer.start()
    const a = await node(server.url)
    const b = await lagging(server)
    const url = await served(b.bus)
    const { epoch } = a.bus
    await publish(a.bus, 8)
    expect(b.bus.lastEventId).toBeLessThan(8)
    const seen = ids(url, `${epoch}:8`)
    const frames = connected(url, `${epoch}:8`)
    expect(await read(frames, 1)).toEqual([complete(0)])
    const next = last(await publish(a.bus, 1))
    expect(await read(frames, 1)).toEqual([next.id])
    await until(() => seen.includes(`${epoch}:9`))
    expect(seen).toEqual([`${epoch}:8`, `${epoch}:9`])
  })

  it('gives a client of a stream that is gone the ids of the new one, and every event of it', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    const url = await served(bus)
    const { epoch } = bus
    await publish(bus, 10)
    await server.call('DEL', KEY)
    const frames = connected(url, `${epoch}:10`)
    expect(await read(frames, 2)).toMatchObject([
      { type: 'state_resync_required', reason: 'epoch_reset' },
      complete(0),
    ])
    expect(frames.cursor).toBe(`${bus.epoch}:0`)
    await publish(bus, 12)
    expect(await read(frames, 12)).toEqual(range(1, 12))
  })

  it('tells a client in the middle of its stream where the new one begins, for good', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    const url = await served(bus)
    const { epoch } = bus
    await publish(bus, 2)
    const seen = ids(url, `${epoch}:0`)
    await until(() => seen.includes(`${epoch}:2`))
    await server.call('DEL', KEY)
    await until(() => seen.length === 3, 'the cursor of the new stream')
    expect(seen).toEqual([`${epoch}:1`, `${epoch}:2`, `${bus.epoch}:0`])
    await publish(bus, 1)
    await until(() => seen.length === 4)
    expect(seen[3]).toBe(`${bus.epoch}:1`)
  })

  it('keeps its clients while Redis is away, and goes on', async () => {
    const server = await RedisServer.start('--appendonly', 'yes')
    const a = await node(server.url)
    const url = await served(a.bus)
    let connections = 0
    const controller = new AbortController()
    onTestFinished(() => controller.abort())
    const frames = connectBus(url, {
      lastEventId: `${a.bus.epoch}:0`,
      signal: controller.signal,
      onOpen: () => {
        connections++
      },
    })
    await publish(a.bus, 1)
    await read(frames, 2)
    await server.kill()
    await until(() => a.changes.length === 1)
    const waiting = connected(url, `${a.bus.epoch}:0`)
    const pending: Promise<IteratorResult<Frame>> = waiting.next()
    await server.up()
    await publish(a.bus, 1)
    expect(await read(frames, 1)).toEqual([2])
    expect((await within(pending, 'the replay')).value).toMatchObject({ id: 1 })
    expect(connections).toBe(1)
  })

  it('ends its clients of every node behind the last event', async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const clients = await Promise.all(
      [a, b].map(async ({ bus }) => connected(await served(bus), `${bus.epoch}:0`)),
    )
    await publish(a.bus, 3)
    await a.bus.end()
    for (const client of clients) {
      const got: number[] = []
      for await (const frame of client) if (frame.id !== undefined) got.push(frame.id as number)
      expect(got).toEqual([1, 2, 3])
    }
  })
})
