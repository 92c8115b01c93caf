import { expect, it, vi } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { range } from '../support/frames.ts'
import { Follower, node, publish } from '../support/redis-bus.ts'
import { meddled, operationOf } from '../support/redis-client.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'

vi.setConfig({ testTimeout: 30_000 })

/** A script that Redis does not know. */
const UNKNOWN = '0'.repeat(40)

describeOnRedis('what is published without waiting', () => {
  it.each([1, 2, 3, 4])('is not overtaken where Redis refuses step %d of it', async (refused) => {
    const server = await RedisServer.start()
    let steps = 0
    const client = meddled(server.url, (args, send) => {
      const isRefused = operationOf(args) === 'append' && ++steps === refused
      return send(isRefused ? ['EVALSHA', UNKNOWN, ...args.slice(2)] : args)
    })
    const { bus } = await node(server.url, { client })
    const other = await node(server.url)
    const follower = new Follower(other.bus)
    const mine = range(1, 2000).map((n) => bus.publish({ type: 'tick', data: n }))
    const theirs = range(1, 2000).map((n) => other.bus.publish({ type: 'tock', data: n }))
    const last = (await Promise.all([...mine, ...theirs])).at(-1) as BusEvent
    await follower.upTo((await publish(bus, 1))[0] ?? last)
    const told = (type: string) => follower.events.filter((event) => event.type === type)
    expect(told('tick').map(({ data }) => data)).toEqual([...range(1, 2000), 0])
    expect(told('tock').map(({ data }) => data)).toEqual(range(1, 2000))
    expect(follower.resyncs).toEqual([])
  })

  it('is not stored twice where its answer is lost and the stream has dropped it since', async () => {
    const server = await RedisServer.start()
    const options = { ringSize: 0 }
    const other = await node(server.url, options)
    const follower = new Follower(other.bus)
    let isLost = false
    const client = meddled(server.url, async (args, send, cut) => {
      // Not read by the one that published either.
      if (args[0] === 'XREAD') return new Promise(() => {})
      if (operationOf(args) !== 'append' || isLost) return send(args)
      isLost = true
      await send(args)
      await Promise.all(range(1, 1500).map((n) => other.bus.publish({ type: 'tock', data: n })))
      cut()
      throw new Error('the socket was closed')
    })
    const { bus } = await node(server.url, { ...options, client })
    await expect(bus.publish({ type: 'tick' })).rejects.toMatchObject({ code: 'backend_unavailable' })
    await follower.upTo((await publish(bus, 1))[0] as BusEvent)
    expect(follower.events.filter(({ type, data }) => type === 'tick' && data !== 0)).toHaveLength(1)
  })
})
