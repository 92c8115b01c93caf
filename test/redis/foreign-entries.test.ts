import { expect, it, vi } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { read, rest } from '../conformance/world.ts'
import { complete, range } from '../support/frames.ts'
import { Follower, KEY, node, pair, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

describeOnRedis('an entry that no bus wrote', () => {
  const texts = ['garbage', '', '{', '{"v":1}', '{"v":1,"type":"x","data":1,"id":1}', '[]']

  it.each(texts)('costs its own id, live and in every replay: %s', async (text) => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const live = new Follower(a.bus)
    await publish(a.bus, 2)
    await server.call('XADD', KEY, '0-*', a.bus.epoch, text)
    const one = last(await publish(b.bus, 1))
    await live.upTo(one)
    expect(live.resyncs).toMatchObject([{ reason: 'ring_evicted', earliestAvailableId: 4 }])
    // One that has none of it in its window.
    const { bus } = await node(server.url)
    const resumed = await new Follower(bus, { lastEventId: 0 }).upTo(one)
    expect(resumed.events.map(({ id }) => id)).toEqual([1, 2, 4])
    expect(resumed.resyncs).toMatchObject([
      { reason: 'ring_evicted', lastDeliveredId: 2, earliestAvailableId: 4 },
    ])
  })

  it('costs no more where it is a page of its own', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    const text = 'x'.repeat(600_000)
    // As many as are read before it is known how large they are, and one of which a page is full.
    for (let n = 0; n < 33; n++) await bus.publish({ type: 'large', data: text })
    await server.call('XADD', KEY, '0-*', bus.epoch, 'garbage')
    const one = last(await publish(bus, 2))
    const resumed = await new Follower((await node(server.url)).bus, { lastEventId: 0 }).upTo(one)
    expect(resumed.events.map(({ id }) => id)).toEqual([...range(1, 33), 35, 36])
    expect(resumed.resyncs).toMatchObject([{ lastDeliveredId: 33, earliestAvailableId: 35 }])
  })

  it('and that is in the way of all to come begins a new epoch, and ends nothing', async () => {
    const server = await RedisServer.start()
    const nodes = await pair(server.url)
    const live = nodes.map(({ bus }) => new Follower(bus))
    const { epoch } = nodes[0].bus
    await publish(nodes[0].bus, 3)
    await server.call('XADD', KEY, '*', 'a', 'b')
    await until(() => nodes.every(({ bus }) => bus.epoch !== epoch))
    const one = last(await publish(nodes[1].bus, 2))
    for (const follower of live) {
      await follower.upTo(one)
      expect(follower.reasons).toEqual(['epoch_reset'])
      expect(follower.isOver).toBe(false)
    }
    // Also where no node was there to see it.
    await Promise.all(nodes.map(({ bus }) => bus.close()))
    await server.call('XADD', KEY, '*', 'a', 'b')
    expect(last(await publish((await node(server.url)).bus, 1)).id).toBe(1)
  })

  it('leaves a stream of another program as it was', async () => {
    const server = await RedisServer.start()
    await server.call('XADD', KEY, '*', 'a', 'b')
    await expect(node(server.url)).rejects.toThrow(/^WRONGTYPE/)
    expect(await server.call('XINFO', 'GROUPS', KEY)).toEqual([])
    expect(await server.clients()).toEqual([])
  })
})

describeOnRedis('an end whose last events somebody deleted', () => {
  it('is not reached silently', async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const live = b.bus.subscribe()
    await publish(a.bus, 2)
    await until(() => b.bus.lastEventId === 2)
    const script = `for id = 3, 5 do redis.call('XADD', KEYS[1], '0-' .. id, ARGV[1], '{"v":1,"type":"x"}') end
      redis.call('XADD', KEYS[1], '1-0', 'end', '5')
      redis.call('XDEL', KEYS[1], '0-3', '0-4', '0-5')`
    await server.call('EVAL', script, '1', KEY, a.bus.epoch)
    expect(await rest(live)).toMatchObject([1, 2, { reason: 'ring_evicted', earliestAvailableId: 6 }, 'done'])
  })
})

describeOnRedis('ids', () => {
  it('go up to what a number carries, and then nothing is taken', async () => {
    const server = await RedisServer.start()
    const { bus, reports } = await node(server.url)
    const text = '{"v":1,"type":"tick","data":0}'
    await server.call('XADD', KEY, `0-${Number.MAX_SAFE_INTEGER - 2}`, bus.epoch, text, 'mark', 'x.1.1')
    await until(() => bus.lastEventId === Number.MAX_SAFE_INTEGER - 2)
    const three = await Promise.all([1, 2, 3].map((n) => bus.publish({ type: 'tick', data: n })))
    expect(three.map((event) => event?.id)).toEqual([
      Number.MAX_SAFE_INTEGER - 1,
      Number.MAX_SAFE_INTEGER,
      undefined,
    ])
    expect(reports.at(-1)).toEqual({ type: 'event_rejected', reason: 'ids_exhausted', eventType: 'tick' })
    expect(bus.lastEventId).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describeOnRedis('a replay of a bus that is closed at once', () => {
  it('gives what this node has', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    await publish(bus, 3)
    const streams = [1, 9].map((lastEventId) => bus.subscribe({ lastEventId }))
    const all = bus.subscribe({ from: 'earliest' })
    await bus.close()
    expect(await Promise.all(streams.map(rest))).toEqual([[2, 3, complete(2, 3), 'done'], ['done']])
    expect(streams.map(({ position }) => position)).toEqual([3, 9])
    expect(await read(all, 4)).toEqual([...range(1, 3), complete(3, 3)])
  })
})
