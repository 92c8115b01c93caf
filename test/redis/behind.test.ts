import { expect, it, vi } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { range } from '../support/frames.ts'
import { Follower, node, publish } from '../support/redis-bus.ts'
import { meddled } from '../support/redis-client.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'

vi.setConfig({ testTimeout: 30_000 })

describeOnRedis('a node that has not read the newest event', () => {
  it('is given one that is larger than the byte cap all the same, when it looks at the stream before', async () => {
    const server = await RedisServer.start()
    const options = { maxRingBytes: 500 }
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const client = meddled(server.url, async (args, send) => {
      const answer = await send(args)
      if (args[0] === 'XREAD') await released
      return answer
    })
    const { bus } = await node(server.url, { ...options, client })
    const other = await node(server.url, options)
    const live = new Follower(bus)
    await publish(other.bus, 1)
    const large = (await other.bus.publish({ type: 'tick', data: 'x'.repeat(1000) })) as BusEvent
    // Looks, and is told that the event is gone for whoever comes.
    const resumed = new Follower(bus, { lastEventId: 0 })
    await vi.waitFor(() => expect(resumed.resyncs).toHaveLength(1))
    release()
    await live.upTo(large)
    expect([live.events.at(-1)?.id, bus.lastEventId, bus.earliestAvailableId]).toEqual([2, 2, 3])
  })
})

describeOnRedis('a node that comes late', () => {
  it('reads large events in pages of few, and live ones beside them', async () => {
    const server = await RedisServer.start()
    const writer = await node(server.url)
    const text = 'x'.repeat(300_000)
    for (let n = 0; n < 40; n++) await writer.bus.publish({ type: 'large', data: text })
    const pages: number[] = []
    const client = meddled(server.url, async (args, send) => {
      const answer = await send(args)
      if (args[0] === 'XRANGE') pages.push((answer as unknown[]).length)
      return answer
    })
    const reader = await node(server.url, { client })
    const follower = new Follower(reader.bus, { lastEventId: 0 })
    await follower.upTo((await writer.bus.publish({ type: 'large', data: text })) as BusEvent)
    expect(follower.resyncs).toEqual([])
    expect(follower.events.map(({ id }) => id)).toEqual(range(1, 41))
    // The first page comes before it is known how large they are.
    expect(Math.max(...pages.slice(1))).toBeLessThanOrEqual(3)
  })
})
