import { createClient } from 'redis'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { createRedisBus } from '../../src/redis/index.ts'
import { read, rest } from '../conformance/world.ts'
import { abortListeners } from '../support/bus.ts'
import { complete, range } from '../support/frames.ts'
import { Program } from '../support/programs.ts'
import { Follower, KEY, node, pair, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until, within } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

const KEEPS = ['--appendonly', 'yes']
const UNAVAILABLE = { name: 'BackendUnavailableError', code: 'backend_unavailable' }

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

describeOnRedis('while Redis is away', () => {
  it('neither a publish nor an end that nobody waits for is an unhandled rejection', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    onTestFinished(() => void process.off('unhandledRejection', unhandled))
    const server = await RedisServer.start()
    const one = await node(server.url, { timeoutMs: 50 })
    const { bus } = one
    await server.kill()
    void bus.publish({ type: 'lost' })
    void bus.end()
    await expect(bus.end()).rejects.toMatchObject(UNAVAILABLE)
    // Rejections count as unhandled behind the microtasks of the moment.
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).not.toHaveBeenCalled()
    expect(one.changes).toEqual(['backend_unavailable'])
  })

  it('a publish is rejected in time, and subscribers stay and go on by themselves', async () => {
    const server = await RedisServer.start(...KEEPS)
    const nodes = await pair(server.url, { timeoutMs: 300 })
    const [a, b] = nodes
    const followers = nodes.map(({ bus }) => new Follower(bus))
    await publish(a.bus, 3)
    for (let outage = 0; outage < 3; outage++) {
      await server.kill()
      await expect(a.bus.publish({ type: 'lost' })).rejects.toMatchObject(UNAVAILABLE)
      expect([a.bus.subscriberCount, b.bus.subscriberCount]).toEqual([1, 1])
      await server.up()
      await until(() => nodes.every(({ changes }) => changes.length === 2 * (outage + 1)))
      const one = last(await publish(b.bus, 1))
      for (const follower of followers) await follower.upTo(one)
    }
    // Each change of state once, however many attempts there were meanwhile.
    for (const { changes, reports } of nodes) {
      expect(changes).toEqual(Array(3).fill(['backend_unavailable', 'backend_available']).flat())
      for (const report of reports.filter(({ type }) => type === 'backend_unavailable')) {
        expect(report).toMatchObject({ error: expect.any(Error) })
      }
    }
    for (const follower of followers) {
      expect(follower.resyncs).toEqual([])
      expect(follower.isOver).toBe(false)
    }
  })

  it('what waited is stored in its order when it comes back in time, and what was given up is not', async () => {
    const server = await RedisServer.start(...KEEPS)
    const [a, b] = await pair(server.url, { timeoutMs: 15_000 })
    const hasty = await node(server.url, { timeoutMs: 100 })
    const follower = new Follower(b.bus)
    await server.kill()
    await until(() => [a, hasty].every(({ changes }) => changes.length === 1))
    const waiting = range(1, 500).map((n) => a.bus.publish({ type: 'tick', data: n }))
    await expect(hasty.bus.publish({ type: 'lost' })).rejects.toMatchObject(UNAVAILABLE)
    await server.up()
    const events = (await Promise.all(waiting)) as BusEvent[]
    await follower.upTo(last(events))
    expect(follower.events).toEqual(events)
    expect(events.map(({ data }) => data)).toEqual(range(1, 500))
  })

  it('10,000 publishes wait, and the next is rejected at once', async () => {
    const server = await RedisServer.start(...KEEPS)
    const one = await node(server.url, { timeoutMs: 0 })
    const { bus } = one
    await server.kill()
    await until(() => one.changes.length === 1)
    const waiting = range(1, 10_000).map((n) => bus.publish({ type: 'tick', data: n }))
    for (let n = 0; n < 3; n++) {
      await expect(bus.publish({ type: 'too many' })).rejects.toMatchObject(UNAVAILABLE)
    }
    await server.up()
    const events = (await Promise.all(waiting)) as BusEvent[]
    expect(events.map(({ data }) => data)).toEqual(range(1, 10_000))
    expect(last(await publish(bus, 1)).id).toBe(10_001)
  })

  it('a resumed subscription waits, and leaves no listener however it is ended meanwhile', async () => {
    const server = await RedisServer.start(...KEEPS)
    const one = await node(server.url)
    const { bus } = one
    await publish(bus, 5)
    await server.kill()
    await until(() => one.changes.length === 1)
    const { signal } = new AbortController()
    const aborted = new AbortController()
    const streams = {
      aborted: bus.subscribe({ lastEventId: 2, signal: aborted.signal }),
      returned: bus.subscribe({ lastEventId: 2, signal }),
      thrown: bus.subscribe({ lastEventId: 2, signal }),
      stays: bus.subscribe({ lastEventId: 2, signal }),
    }
    const pending = Object.values(streams).map((stream) => stream.next())
    aborted.abort()
    await streams.returned.return()
    await expect(streams.thrown.throw?.(new Error('enough'))).rejects.toThrow('enough')
    for (const over of pending.slice(0, 3)) {
      expect(await within(over, 'the end')).toEqual({ value: undefined, done: true })
    }
    expect([abortListeners(aborted.signal), bus.subscriberCount]).toEqual([0, 1])
    await server.up()
    expect(await within(pending[3] as Promise<unknown>, 'the replay')).toMatchObject({ value: { id: 3 } })
    expect(await read(streams.stays, 3)).toEqual([4, 5, complete(3, 5)])
    await streams.stays.return()
    expect([abortListeners(signal), bus.subscriberCount]).toEqual([0, 0])
  })

  it('`end` is rejected in time, and the bus goes on', async () => {
    const server = await RedisServer.start(...KEEPS)
    const one = await node(server.url, { timeoutMs: 300 })
    const { bus } = one
    const follower = new Follower(bus)
    await publish(bus, 1)
    await server.kill()
    await expect(bus.end()).rejects.toMatchObject(UNAVAILABLE)
    expect(bus.ended).toBe(false)
    await server.up()
    await until(() => one.changes.length === 2)
    const event = last(await publish(bus, 1))
    await follower.upTo(event)
    expect(event.id).toBe(2)
    await bus.end()
    await within(follower.over, 'the end')
  })

  it('`close` ends every subscriber, and settles when what was published is given up', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url, { timeoutMs: 300 })
    const live = bus.subscribe()
    await publish(bus, 2)
    await server.kill()
    const resumed = bus.subscribe({ lastEventId: 0 })
    const late = bus.publish({ type: 'late' })
    const closed = bus.close()
    await expect(late).rejects.toMatchObject(UNAVAILABLE)
    await within(closed, 'the bus to be closed')
    expect(await rest(live)).toEqual([1, 2, 'done'])
    expect((await rest(resumed)).at(-1)).toBe('done')
    expect(bus.subscriberCount).toBe(0)
  })

  it('what needs no Redis goes on: live frames that were read, stats, new live subscribers', async () => {
    const server = await RedisServer.start()
    const one = await node(server.url)
    const { bus } = one
    const live = bus.subscribe()
    await publish(bus, 3)
    await server.kill()
    await until(() => one.changes.length === 1)
    expect(await read(live, 3)).toEqual([1, 2, 3])
    expect(bus.stats()).toMatchObject({ lastEventId: 3, earliestAvailableId: 1, ringEvents: 3 })
    const another = bus.subscribe()
    expect(bus.subscriberCount).toBe(2)
    await another.return()
  })
})

describeOnRedis('a bus that cannot be opened', () => {
  it.each(['nobody there', 'paused'])('is rejected in time: %s', async (how) => {
    const server = await RedisServer.start()
    if (how === 'paused') server.pause()
    else await server.kill()
    const client = createClient({ url: server.url })
    const opened = createRedisBus({ client, key: KEY, timeoutMs: 300 })
    const error = await within(
      opened.catch((reason) => reason),
      'a rejection',
    )
    expect(error).toMatchObject(UNAVAILABLE)
    // A Redis that says nothing has given no reason.
    if (how === 'nobody there') expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
    server.goOn()
  })

  it('rejects with what Redis says where the key holds something else', async () => {
    const server = await RedisServer.start()
    await server.call('SET', KEY, 'text')
    await expect(node(server.url)).rejects.toThrow(/^WRONGTYPE/)
    expect(await server.clients()).toEqual([])
    await server.call('DEL', KEY)
    expect(last(await publish((await node(server.url)).bus, 1)).id).toBe(1)
  })

  it('leaves nothing that keeps the process', async () => {
    const server = await RedisServer.start()
    await server.kill()
    const program = await Program.start('redis/programs/opener.ts', server.url)
    expect(await program.said()).toMatchObject({ code: 'backend_unavailable' })
    expect(await within(program.over, 'the process to end')).toBe(0)
  })
})
