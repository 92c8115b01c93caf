import { createClient } from 'redis'
import { expect, it } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { range } from '../support/frames.ts'
import { Follower, type Node, node, Publisher, pair, publish, saidBy } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { pause, until } from '../support/until.ts'

const TIMEOUT = 60_000

/** How many connections are killed under way. */
const KILLS = Number(process.env.REDIS_KILLS ?? 50)

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

/** Publishes from all of these while something happens; then each event is with each subscriber once, in its order. */
async function throughout(nodes: readonly Node[], happening: (publishers: Publisher[]) => Promise<void>) {
  const followers = nodes.map(({ bus }) => new Follower(bus))
  const publishers = nodes.map((one, at) => new Publisher(one, `${at}`, 50))
  await happening(publishers)
  for (const publisher of publishers) await publisher.stop()
  const one = last(await publish((nodes[0] as Node).bus, 1))
  for (const follower of followers) {
    await follower.upTo(one)
    expect(follower.resyncs).toEqual([])
    for (const [at, { published, errors }] of publishers.entries()) {
      expect(errors).toEqual([])
      expect(saidBy(`${at}`, follower.events)).toEqual(range(1, published))
    }
  }
  for (const [at, { acknowledged }] of publishers.entries()) {
    expect(acknowledged.map(({ id }) => id)).toEqual(acknowledged.map(({ id }) => id).sort((a, b) => a - b))
    expect(saidBy(`${at}`, acknowledged)).toEqual(range(1, acknowledged.length))
  }
}

describeOnRedis('what two nodes publish without waiting', () => {
  it.each([{ ringSize: 0 }, { ringSize: 50 }, { ringSize: 8000 }, { maxRingBytes: 10_000 }])(
    'comes to every subscriber of the node that published it: %j',
    { timeout: TIMEOUT },
    async (options) => {
      const server = await RedisServer.start()
      const { bus } = await node(server.url, options)
      const follower = new Follower(bus)
      const events = await Promise.all(range(1, 5000).map((n) => bus.publish({ type: 'tick', data: n })))
      await follower.upTo(last(events as BusEvent[]))
      expect(follower.resyncs).toEqual([])
      expect(follower.events).toEqual(events)
      expect(follower.events.map(({ data }) => data)).toEqual(range(1, 5000))
    },
  )

  it('is lost and doubled nowhere while connections are killed at any moment', {
    timeout: TIMEOUT,
  }, async () => {
    const server = await RedisServer.start()
    const nodes = await pair(server.url)
    await throughout(nodes, async (publishers) => {
      const admin = createClient({ url: server.url })
      await admin.connect()
      const own = String(await admin.sendCommand(['CLIENT', 'ID']))
      for (let kill = 0; kill < KILLS; ) {
        const list = String(await admin.sendCommand(['CLIENT', 'LIST']))
        const ids = [...list.matchAll(/^id=(\d+) /gm)]
          .map(([, id]) => id as string)
          .filter((id) => id !== own)
        const id = ids[Math.floor(Math.random() * ids.length)]
        if (id !== undefined) kill += Number(await admin.sendCommand(['CLIENT', 'KILL', 'ID', id]))
        await pause(Math.random() * 60)
      }
      admin.destroy()
      await Promise.all(publishers.map((publisher) => publisher.more(100)))
    })
  })

  it('keeps its order, and all of it, while the scripts are flushed', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    await throughout(await pair(server.url), async (publishers) => {
      for (let flush = 0; flush < 5; flush++) {
        await Promise.all(publishers.map((publisher) => publisher.more(100)))
        await server.call('SCRIPT', 'FLUSH')
      }
      await Promise.all(publishers.map((publisher) => publisher.more(100)))
    })
  })

  it('survives that the process does nothing else for a while', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    await throughout(await pair(server.url), async (publishers) => {
      await Promise.all(publishers.map((publisher) => publisher.more(100)))
      const end = performance.now() + 1500
      while (performance.now() < end);
      await Promise.all(publishers.map((publisher) => publisher.more(100)))
    })
  })
})

describeOnRedis('the client of the user', () => {
  it('may be closed at any time', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    const client = createClient({ url: server.url })
    await client.connect()
    const a = await node(server.url, { client })
    const b = await node(server.url)
    await throughout([a, b], async (publishers) => {
      await Promise.all(publishers.map((publisher) => publisher.more(100)))
      client.destroy()
      await Promise.all(publishers.map((publisher) => publisher.more(100)))
    })
    expect(a.changes).toEqual([])
  })

  it('may itself be busy with a command that blocks', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    const client = createClient({ url: server.url })
    await client.connect()
    const popped = client.sendCommand(['BLPOP', 'nothing', '0']).catch(() => 'closed')
    const { bus } = await node(server.url, { client })
    const follower = new Follower(bus)
    await follower.upTo(last(await publish(bus, 3)))
    await until(() => follower.events.length === 3)
    client.destroy()
    expect(await popped).toBe('closed')
  })
})
