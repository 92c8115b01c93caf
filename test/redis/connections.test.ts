import { createClient } from 'redis'
import { expect, it, vi } from 'vitest'
import { createRedisBus } from '../../src/redis/index.ts'
import { range } from '../support/frames.ts'
import { Program } from '../support/programs.ts'
import { Follower, node, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until, within } from '../support/until.ts'

vi.setConfig({ testTimeout: 60_000 })

const BUSES = Number(process.env.REDIS_BUSES ?? 1000)

/** Their commands; a reader that has a stream to read is in `xread`. */
async function commands(server: RedisServer): Promise<string[]> {
  return (await server.clients()).map((line) => / cmd=(\S+)/.exec(line)?.[1] as string).sort()
}

describeOnRedis('the connections of a process', () => {
  it(`are one that blocks and one for commands, for ${BUSES} buses; none behind the last one`, async () => {
    const server = await RedisServer.start()
    const program = await Program.start('redis/programs/opener.ts', server.url, `${BUSES}`)
    expect(await program.said()).toEqual({ open: BUSES })
    let seen: string[] = []
    while (!seen.includes('xread')) seen = await commands(server)
    expect(seen).toHaveLength(2)
    expect(seen.filter((command) => command === 'xread')).toHaveLength(1)
    program.send('close')
    expect(await program.said()).toBe('closed')
    expect(await within(program.over, 'the process to end by itself')).toBe(0)
    while ((await commands(server)).length > 0);
  })

  it('are shared by buses of different clients of one server, and stay until the last of them is closed', async () => {
    const server = await RedisServer.start()
    const open = (key: string) => createRedisBus({ client: createClient({ url: server.url }), key })
    const buses = await Promise.all(['a', 'b', 'c'].map(open))
    expect(await server.clients()).toHaveLength(2)
    await buses[0]?.close()
    await buses[1]?.close()
    const follower = new Follower(buses[2] as (typeof buses)[number])
    const [event] = await publish(buses[2] as (typeof buses)[number], 1)
    await follower.upTo(event as NonNullable<typeof event>)
    expect(await server.clients()).toHaveLength(2)
    await buses[2]?.close()
    while ((await server.clients()).length > 0);
    // And again, after there were none.
    const again = await open('a')
    expect(await server.clients()).toHaveLength(2)
    await again.close()
  })

  it('bring every bus what is published elsewhere, also one that is opened while the others wait', async () => {
    const server = await RedisServer.start()
    const keys = range(1, 20).map((n) => `bus:${n}`)
    const here = await Promise.all(keys.map((key) => node(`${server.url}`, { key })))
    const client = createClient({ url: `${server.url}?elsewhere` })
    for (const [at, key] of keys.entries()) {
      const follower = new Follower((here[at] as (typeof here)[number]).bus)
      const there = await createRedisBus({ client, key })
      const [event] = await publish(there, 1)
      await follower.upTo(event as NonNullable<typeof event>)
      await there.close()
    }
  })

  it('tell of one key that holds something else to nobody but its own bus', async () => {
    const server = await RedisServer.start()
    const client = createClient({ url: server.url })
    const [good, bad] = [
      await createRedisBus({ client, key: 'good' }),
      await createRedisBus({ client, key: 'bad' }),
    ]
    const other = await node(server.url, { key: 'good' })
    const followers = [new Follower(good), new Follower(bad)]
    await publish(bad, 1)
    const { epoch } = bad
    await server.call('SET', 'bad', 'text')
    const late = await publish(other.bus, 3)
    await followers[0]?.upTo(late[2] as NonNullable<(typeof late)[number]>)
    expect(followers[0]?.resyncs).toEqual([])
    await server.call('DEL', 'bad')
    await until(() => bad.epoch !== epoch, 'the stream to be made anew')
    const [event] = await publish(bad, 1)
    await followers[1]?.upTo(event as NonNullable<typeof event>)
    expect(followers[1]?.reasons).toEqual(['epoch_reset'])
    await Promise.all([good.close(), bad.close()])
  })
})
