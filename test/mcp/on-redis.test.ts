import { expect, test } from 'vitest'
import { createEventStore, isUnknown, numbers, replay, storeNotes } from '../support/mcp.ts'
import { KEY, lagging, node, pair } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'

const NAMESPACE = 'mcp'

describeOnRedis('an event store on a Redis bus', () => {
  test('replays on one node what was stored on the other, in order and of that stream only', async () => {
    const server = await RedisServer.start()
    const [one, other] = await pair(server.url)
    const here = createEventStore({ namespace: NAMESPACE, bus: one.bus })
    const there = createEventStore({ namespace: NAMESPACE, bus: other.bus })
    const [first] = await storeNotes(here, 'a', 0)
    await storeNotes(there, 'b', 'of another stream')
    await storeNotes(here, 'a', ...numbers(1, 20))
    await storeNotes(there, 'a', ...numbers(21, 40))
    for (const store of [here, there]) {
      expect(await replay(store, first as string)).toMatchObject({ stream: 'a', notes: numbers(1, 40) })
    }
  })

  test('replays on a node that lags what the other one had stored', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    const behind = await lagging(server)
    const [first] = await storeNotes(createEventStore({ namespace: NAMESPACE, bus }), 'a', ...numbers(0, 9))
    expect(behind.bus.lastEventId).toBe(0)
    const there = createEventStore({ namespace: NAMESPACE, bus: behind.bus })
    expect((await replay(there, first as string)).notes).toEqual(numbers(1, 9))
  })

  test('keeps namespaces on one bus apart', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    const mine = createEventStore({ namespace: 'mine', bus })
    const yours = createEventStore({ namespace: 'yours', bus })
    const [id] = await storeNotes(mine, 's', 1, 2)
    await storeNotes(yours, 's', 'foreign')
    expect((await replay(mine, id as string)).notes).toEqual([2])
    expect(await isUnknown(yours, id as string)).toBe(true)
  })

  test('knows nothing of an id whose stream was deleted, on either node', async () => {
    const server = await RedisServer.start()
    const [one, other] = await pair(server.url)
    const stores = [one, other].map(({ bus }) => createEventStore({ namespace: NAMESPACE, bus }))
    const [id] = await storeNotes(stores[0] as (typeof stores)[0], 's', 1, 2)
    await server.call('DEL', KEY)
    for (const store of stores) expect(await isUnknown(store, id as string)).toBe(true)
  })

  test('knows nothing of an id whose successor has left the ring', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url, { ringSize: 3 })
    const store = createEventStore({ namespace: NAMESPACE, bus })
    const [gone, , kept] = await storeNotes(store, 's', ...numbers(1, 5))
    expect(await isUnknown(store, gone as string)).toBe(true)
    expect((await replay(store, kept as string)).notes).toEqual([4, 5])
  })
})
