import { expect, it } from 'vitest'
import { range } from '../support/frames.ts'
import { Follower, node, Publisher, pair, publish, saidBy } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { pause, until } from '../support/until.ts'

const TIMEOUT = 40_000
const KEEPS = ['--appendonly', 'yes']

/** Milliseconds that a paused Redis stays so. */
const PAUSE_MS = Number(process.env.REDIS_PAUSE_MS ?? 500)

describeOnRedis('a Redis that is killed and comes back with its data', () => {
  it('has lost nothing that was acknowledged, on any node', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start(...KEEPS)
    const nodes = await pair(server.url)
    const [a, b] = nodes
    const followers = [new Follower(a.bus), new Follower(b.bus)]
    const publishers = [new Publisher(a, 'a'), new Publisher(b, 'b')]
    for (let round = 0; round < 3; round++) {
      await Promise.all(publishers.map((publisher) => publisher.more(300)))
      await server.kill()
      await server.up()
    }
    await Promise.all(publishers.map((publisher) => publisher.more(300)))
    for (const publisher of publishers) await publisher.stop()
    const [last] = await publish(a.bus, 1)
    if (last === undefined) throw new Error('nothing was published')

    for (const follower of followers) {
      await follower.upTo(last)
      expect(follower.resyncs).toEqual([])
      expect(follower.events.map(({ id }) => id)).toEqual(range(1, last.id))
      for (const [at, name] of ['a', 'b'].entries()) {
        // Each publisher said 1, 2, 3 …, none of it twice and none of it not at all.
        expect(publishers[at]?.errors).toEqual([])
        expect(saidBy(name, follower.events)).toEqual(range(1, publishers[at]?.published as number))
      }
    }
    for (const { changes } of nodes) {
      expect(changes).toEqual(Array(3).fill(['backend_unavailable', 'backend_available']).flat())
    }
  })
})

describeOnRedis('a Redis that is killed and comes back without its data', () => {
  it('costs each subscriber one resync, and all go on in one new epoch', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const before = a.bus.epoch
    const followers = [a, a, b, b].map(({ bus }) => new Follower(bus))
    const publishers = [new Publisher(a, 'a'), new Publisher(b, 'b')]
    await Promise.all(publishers.map((publisher) => publisher.more(500)))
    await server.kill()
    await server.up()
    await Promise.all(publishers.map((publisher) => publisher.more(500)))
    for (const publisher of publishers) await publisher.stop()
    const [last] = await publish(b.bus, 1)
    if (last === undefined) throw new Error('nothing was published')

    for (const follower of followers) {
      await follower.upTo(last)
      expect(follower.reasons).toEqual(['epoch_reset'])
      expect(follower.cursor.epoch).not.toBe(before)
    }
    expect(a.bus.epoch).toBe(b.bus.epoch)
  })

  it('costs a cursor of before one resync, on either node', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const { epoch } = a.bus
    await publish(a.bus, 5)
    await server.kill()
    await server.up()
    const [last] = await publish(b.bus, 7).then((events) => events.slice(-1))
    for (const { bus } of [a, b]) {
      for (const lastEventId of [0, 3, 5]) {
        const follower = new Follower(bus, { lastEventId, epoch })
        await follower.upTo(last as NonNullable<typeof last>)
        expect(follower.reasons).toEqual(['epoch_reset'])
        expect(follower.events.map(({ id }) => id)).toEqual(range(1, 7))
      }
    }
  })
})

describeOnRedis('a Redis that is paused', () => {
  it('loses and doubles nothing', { timeout: TIMEOUT + 2 * PAUSE_MS }, async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const followers = [new Follower(a.bus), new Follower(b.bus)]
    const publishers = [new Publisher(a, 'a'), new Publisher(b, 'b')]
    await Promise.all(publishers.map((publisher) => publisher.more(300)))
    server.pause()
    await pause(PAUSE_MS)
    server.goOn()
    await Promise.all(publishers.map((publisher) => publisher.more(300)))
    for (const publisher of publishers) await publisher.stop()
    const [last] = await publish(a.bus, 1)
    for (const follower of followers) {
      await follower.upTo(last as NonNullable<typeof last>)
      expect(follower.resyncs).toEqual([])
      for (const [at, name] of ['a', 'b'].entries()) {
        expect(publishers[at]?.errors).toEqual([])
        expect(saidBy(name, follower.events)).toEqual(range(1, publishers[at]?.published as number))
      }
    }
  })

  it('rejects what it did not confirm in time, and doubles nothing of it', { timeout: TIMEOUT }, async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url, { timeoutMs: 200 })
    const follower = new Follower(bus)
    await publish(bus, 3)
    server.pause()
    const refused = await Promise.allSettled(
      range(1, 20).map((n) => bus.publish({ type: 'late', data: { by: 'late', n } })),
    )
    expect(refused.map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
    for (const one of refused) expect(one).toMatchObject({ reason: { code: 'backend_unavailable' } })
    server.goOn()
    await until(() => follower.events.length >= 3)
    const [last] = await publish(bus, 1)
    await follower.upTo(last as NonNullable<typeof last>)
    // It may still have been stored, whole or from the front, but each at most once and in its order.
    const stored = saidBy('late', follower.events)
    expect(stored).toEqual(range(1, stored.length))
    expect(follower.resyncs).toEqual([])
  })
})
