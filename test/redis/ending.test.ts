import { expect, it, vi } from 'vitest'
import { sseResponse } from '../../src/web/index.ts'
import { rest } from '../conformance/world.ts'
import { complete } from '../support/frames.ts'
import { Program } from '../support/programs.ts'
import { node, pair, publish } from '../support/redis-bus.ts'
import { meddled, operationOf } from '../support/redis-client.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until, within } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

describeOnRedis('the end of a bus', () => {
  it('is recorded though the bus is closed right behind it, and the process goes on', async () => {
    const server = await RedisServer.start()
    const program = await Program.start('redis/programs/ender.ts', server.url)
    expect(await within(program.said(), 'the end')).toEqual([1, 'ended', 'closed'])
    expect(await within(program.over, 'the process to end')).toBe(0)
    const { bus } = await node(server.url)
    await until(() => bus.ended)
    expect(await bus.publish({ type: 'late' })).toBeUndefined()
  })

  it('is confirmed though the connection is cut right behind its recording', async () => {
    const server = await RedisServer.start()
    let cuts = 0
    const client = meddled(server.url, async (args, send, cut) => {
      const answer = await send(args)
      if (operationOf(args) === 'end' && cuts++ === 0) cut()
      return answer
    })
    const [one, other] = [await node(server.url, { client }), await node(server.url)]
    await publish(one.bus, 2)
    await one.bus.end()
    expect([cuts, one.bus.ended]).toEqual([2, true])
    await until(() => other.bus.ended)
    expect(await rest(one.bus.subscribe({ lastEventId: 1 }))).toEqual([2, complete(1, 2), 'done'])
  })

  it('is none while it may still fail: a client that comes meanwhile is not sent away for good', async () => {
    const server = await RedisServer.start('--appendonly', 'yes')
    const one = await node(server.url, { timeoutMs: 300 })
    const { bus } = one
    await publish(bus, 1)
    await server.kill()
    const end = bus.end()
    expect([bus.ended, await bus.publish({ type: 'late' })]).toEqual([false, undefined])
    const headers = { 'last-event-id': `${bus.epoch}:1` }
    const response = sseResponse(bus, new Request('http://localhost/', { headers }))
    expect(response.status).toBe(200)
    await response.body?.cancel()
    await expect(end).rejects.toMatchObject({ code: 'backend_unavailable' })
    await server.up()
    await until(() => one.changes.length === 2)
    expect((await publish(bus, 1))[0]?.id).toBe(2)
  })

  it('may be recorded by two nodes at once, twice by each, in the middle of publishing', async () => {
    const server = await RedisServer.start()
    const nodes = await pair(server.url)
    const published = nodes.flatMap(({ bus }) => [1, 2, 3].map((n) => bus.publish({ type: 'tick', data: n })))
    const ended = nodes.flatMap(({ bus }) => [bus.end(), bus.end()])
    const events = (await Promise.all(published)).filter((event) => event !== undefined)
    await Promise.all(ended)
    for (const { bus } of nodes) {
      expect([bus.ended, bus.lastEventId]).toEqual([true, events.length])
      expect(await bus.publish({ type: 'late' })).toBeUndefined()
    }
  })
})
