import { createClient, RESP_TYPES } from 'redis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { createRedisBus, type RedisBus, type RedisBusOptions } from '../../src/redis/index.ts'
import { read } from '../conformance/world.ts'
import { complete, range } from '../support/frames.ts'
import { Follower, KEY, node, pair, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { pause, until } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

describe('an option of the wrong type or out of its domain', () => {
  const client = createClient()
  const bad: [string, unknown, typeof TypeError | typeof RangeError][] = [
    ['client', undefined, TypeError],
    ['client', null, TypeError],
    ['client', {}, TypeError],
    ['client', 'redis://127.0.0.1', TypeError],
    ['key', undefined, TypeError],
    ['key', null, TypeError],
    ['key', 1, TypeError],
    ['key', '', RangeError],
    ['prefix', null, TypeError],
    ['prefix', 1, TypeError],
    ['ttlMs', null, TypeError],
    ['ttlMs', '1', TypeError],
    ['ttlMs', -1, RangeError],
    ['ttlMs', 1.5, RangeError],
    ['ttlMs', Number.NaN, RangeError],
    ['timeoutMs', null, TypeError],
    ['timeoutMs', -1, RangeError],
    ['timeoutMs', 0.5, RangeError],
    ['ringSize', -1, RangeError],
    ['ringSize', '8', TypeError],
    ['maxRingBytes', 0, RangeError],
    ['maxQueued', 0, RangeError],
    ['onDiagnostic', 1, TypeError],
  ]

  it.each(bad)('is refused by name: %s %j', async (name, value, kind) => {
    const options = { client, key: KEY, [name]: value } as unknown as RedisBusOptions
    const error = await createRedisBus(options).catch((reason) => reason)
    expect(error).toBeInstanceOf(kind)
    expect(error.message).toContain(name)
    // Neither of which anything may hold.
    expect(process.getActiveResourcesInfo()).not.toContain('TCPSocketWrap')
  })

  it.each([undefined, null, 1])('is refused where there are no options at all: %j', async (options) => {
    await expect(createRedisBus(options as unknown as RedisBusOptions)).rejects.toThrow(TypeError)
  })
})

describeOnRedis('a client of the user', () => {
  let server: RedisServer

  beforeEach(async () => {
    server = await RedisServer.start()
  })

  /** What a bus must be able to do by its client, seen from a plain one. */
  async function works(client: RedisBusOptions['client'], url = server.url): Promise<void> {
    const a = await node(server.url, { client })
    const b = await node(url)
    const followers = [new Follower(a.bus), new Follower(b.bus)]
    const events = [...(await publish(a.bus, 3)), ...(await publish(b.bus, 3))]
    expect(events.map(({ id }) => id)).toEqual(range(1, 6))
    for (const follower of followers) expect((await follower.upTo(last(events))).events).toEqual(events)
    expect(await read(a.bus.subscribe({ lastEventId: 4 }), 3)).toEqual([5, 6, complete(2, 6)])
    await a.bus.end()
    expect(await b.bus.publish({ type: 'late' })).toBeUndefined()
  }

  it('may speak RESP 2 or 3', async () => {
    await works(createClient({ url: server.url, RESP: 2 }))
    await server.call('DEL', KEY)
    await works(createClient({ url: server.url, RESP: 3 }))
  })

  it.each([2, 3] as const)('may map what comes to Buffers, over RESP %d', async (RESP) => {
    const client = createClient({
      url: server.url,
      RESP,
      commandOptions: {
        typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
      },
    })
    await works(client as unknown as RedisBusOptions['client'])
  })

  it('may use another database', async () => {
    await works(createClient({ url: server.url, database: 3 }), `${server.url}/3`)
    expect(await server.call('EXISTS', KEY)).toBe(0)
    await works(createClient({ url: `${server.url}/4` }), `${server.url}/4`)
  })

  it('may be a user with a password and the keys of the bus', async () => {
    await server.call(
      ...[
        'ACL',
        'SETUSER',
        'writer',
        'on',
        '>secret',
        '~bus',
        '+@stream',
        '+@scripting',
        '+@connection',
        '+pexpire',
      ],
      ...['+exists', '+del', '-@admin'],
    )
    await works(createClient({ url: server.url, username: 'writer', password: 'secret' }))
    const wrong = createClient({ url: server.url, username: 'writer', password: 'wrong' })
    const error = await createRedisBus({ client: wrong, key: KEY, timeoutMs: 300 }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'backend_unavailable', cause: { message: /WRONGPASS/ } })
    expect(`${error.stack}${error.cause}`).not.toContain('secret')
  })
})

describeOnRedis('keys', () => {
  it('stand behind a prefix, and are one bus where they are one', async () => {
    const server = await RedisServer.start()
    const a = await node(server.url, { prefix: 'app:', key: 'chat' })
    const b = await node(server.url, { key: 'app:chat' })
    const c = await node(server.url, { key: 'chat' })
    await publish(a.bus, 2)
    await until(() => b.bus.lastEventId === 2)
    expect([a.bus.epoch === b.bus.epoch, c.bus.lastEventId]).toEqual([true, 0])
    expect(((await server.call('KEYS', '*')) as string[]).sort()).toEqual(['app:chat', 'chat'])
  })
})

describeOnRedis('`ttlMs`', () => {
  const exists = async (server: RedisServer) => (await server.call('EXISTS', KEY)) === 1

  it('lets an idle stream go after its last bus, and none that is open', async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url, { ttlMs: 1500 })
    await publish(a.bus, 3)
    await a.bus.close()
    const follower = new Follower(b.bus)
    // Longer than it lives by itself.
    await pause(4500)
    expect(await exists(server)).toBe(true)
    await follower.upTo(last(await publish(b.bus, 1)))
    expect(follower.resyncs).toEqual([])
    await b.bus.close()
    while (await exists(server));
  })

  it.each([0, Infinity])('of %d lets it stay', async (ttlMs) => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url, { ttlMs })
    await publish(bus, 1)
    expect(await server.call('PTTL', KEY)).toBe(-1)
  })
})

describeOnRedis('the caps', () => {
  async function length(server: RedisServer): Promise<number> {
    return Number(await server.call('XLEN', KEY))
  }

  it('of the ring bound the stream, but for what slower nodes may still want', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url, { ringSize: 100 })
    await Promise.all(range(1, 5000).map((n) => bus.publish({ type: 'tick', data: n })))
    expect(await length(server)).toBeLessThanOrEqual(100 + 1000)
    expect(bus.earliestAvailableId).toBe(4901)
    expect(await read(bus.subscribe({ from: 'earliest' }), 101)).toEqual([
      ...range(4901, 5000),
      complete(100, 5000),
    ])
  })

  it('of bytes bound what the stream holds', async () => {
    const server = await RedisServer.start()
    const maxRingBytes = 10_000
    const { bus } = await node(server.url, { maxRingBytes })
    const events = await publish(bus, 500)
    const texts = ((await server.call('XRANGE', KEY, '-', '+')) as [string, string[]][]).map(
      ([, fields]) => fields[1],
    )
    const kept = events.slice(-texts.length)
    const bytes = (some: readonly BusEvent[]) =>
      some.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0)
    expect(bytes(kept)).toBeLessThanOrEqual(maxRingBytes)
    expect(bytes(events.slice(-texts.length - 1))).toBeGreaterThan(maxRingBytes)
    expect(bus.earliestAvailableId).toBe(kept[0]?.id)
    expect(bus.stats().ringBytes).toBe(bytes(kept))
  })

  it('of two nodes may differ: each cursor is told what is gone', async () => {
    const server = await RedisServer.start()
    const { bus: wide } = await node(server.url, { ringSize: 5000 })
    const { bus: narrow } = await node(server.url, { ringSize: 10 })
    const follow = (bus: RedisBus) => new Follower(bus, { lastEventId: 0, epoch: bus.epoch })
    await Promise.all(range(1, 2000).map((n) => wide.publish({ type: 'tick', data: n })))
    const event = last(await publish(narrow, 1))
    for (const follower of [follow(wide), follow(narrow)]) {
      await follower.upTo(event)
      expect(follower.reasons).toEqual(['ring_evicted'])
    }
  })
})
