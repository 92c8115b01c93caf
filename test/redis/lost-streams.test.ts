import { beforeEach, describe, expect, it } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import type { RedisBus } from '../../src/redis/index.ts'
import { chaosProxy } from '../support/chaos-proxy.ts'
import { range } from '../support/frames.ts'
import { Follower, KEY, type Node, node, pair, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

const TIMEOUT = 30_000

/** How many events there were before. */
const BEFORE = 10

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

describeOnRedis('a stream that is no more what it was', () => {
  let server: RedisServer

  beforeEach(async () => {
    server = await RedisServer.start()
  })

  /** Another program's bus, put in the place of the stream in one step. */
  async function replaced(count: number): Promise<void> {
    const { bus } = await node(server.url, { key: 'other' })
    await publish(bus, count)
    await bus.close()
    await server.call('RENAME', 'other', KEY)
  }

  /** What an older copy of the stream is put in the place of, with events that the nodes never saw. */
  async function forked(count: number, nodes: readonly Node[]): Promise<void> {
    await server.call('COPY', KEY, 'other')
    const { bus } = await node(server.url, { key: 'other' })
    await publish(bus, count)
    await bus.close()
    await publish((nodes[0] as Node).bus, 3)
    await until(() => nodes.every(({ bus }) => bus.lastEventId === BEFORE + 3))
    await server.call('RENAME', 'other', KEY)
  }

  const damages: Record<string, (nodes: readonly Node[]) => Promise<unknown>> = {
    deleted: () => server.call('DEL', KEY),
    'flushed with everything else': () => server.call('FLUSHALL'),
    'another one with fewer events': () => replaced(4),
    'another one with as many events': () => replaced(BEFORE),
    'another one whose ids have passed the old ones': () => replaced(25),
    'an older copy': (nodes) => forked(0, nodes),
  }

  const firsts: Record<string, (a: RedisBus, epoch: string) => Promise<unknown>> = {
    publishing: (a) => publish(a, 1),
    reading: (a, epoch) => until(() => a.epoch !== epoch),
  }

  describe.each(Object.keys(damages))('%s', (damage) => {
    it.each(Object.keys(firsts))(
      'is told once to each live subscriber and each old cursor, first noticed by %s',
      { timeout: TIMEOUT },
      async (first) => {
        const nodes = await pair(server.url)
        const [a, b] = nodes
        const { epoch } = a.bus
        const live = [a, a, b, b].map(({ bus }) => new Follower(bus))
        const told = await publish(a.bus, BEFORE)
        for (const follower of live) await follower.upTo(last(told))
        await damages[damage]?.(nodes)
        await firsts[first]?.(a.bus, epoch)
        // What is published into an older copy may still go with it.
        if (damage === 'an older copy') await until(() => nodes.every(({ bus }) => bus.epoch !== epoch))

        const [one] = [await publish(a.bus, 3), await publish(b.bus, 3)].map(last).slice(-1)
        for (const follower of live) {
          await follower.upTo(one as BusEvent)
          expect(follower.reasons).toEqual(['epoch_reset'])
          expect(follower.resyncs[0]?.epoch).toBe(a.bus.epoch)
        }
        expect(a.bus.epoch).toBe(b.bus.epoch)
        for (const { bus } of nodes) {
          for (const lastEventId of [0, 3, BEFORE, BEFORE + 3]) {
            const resumed = await new Follower(bus, { lastEventId, epoch }).upTo(one as BusEvent)
            expect(resumed.reasons).toEqual(['epoch_reset'])
            expect(resumed.events.map(({ id }) => id)).toEqual(range(1, (one as BusEvent).id))
          }
        }
        // One resync frame, and one report of it, for each.
        for (const { reports } of nodes) {
          expect(reports.filter(({ type }) => type === 'state_resync_required')).toHaveLength(2 + 4)
        }
      },
    )

    it('is told to a cursor that comes before anybody has noticed', { timeout: TIMEOUT }, async () => {
      const nodes = await pair(server.url)
      const [a, b] = nodes
      const { epoch } = a.bus
      await publish(a.bus, BEFORE)
      await until(() => b.bus.lastEventId === BEFORE)
      await damages[damage]?.(nodes)
      const resumed = [a, b].flatMap(({ bus }) =>
        [2, BEFORE].map((lastEventId) => new Follower(bus, { lastEventId, epoch })),
      )
      await until(() => resumed.every(({ resyncs }) => resyncs.length > 0), 'a resync for each')
      const one = last(await publish(a.bus, 1))
      for (const follower of resumed) {
        await follower.upTo(one)
        expect(follower.reasons).toEqual(['epoch_reset'])
      }
    })
  })
})

describeOnRedis('a node that was cut off for longer than the stream remembers', () => {
  it('tells each of its live subscribers and each old cursor once what is gone', {
    timeout: TIMEOUT,
  }, async () => {
    const server = await RedisServer.start()
    const proxy = await chaosProxy(server.port)
    const options = { ringSize: 50 }
    const a = await node(`redis://127.0.0.1:${proxy.port}`, options)
    const b = await node(server.url, options)
    const live = [new Follower(a.bus), new Follower(a.bus)]
    const connected = new Follower(b.bus)
    const before = last(await publish(a.bus, 5))
    for (const follower of live) await follower.upTo(before)

    proxy.target = 1
    proxy.cut()
    await until(() => a.changes.includes('backend_unavailable'))
    await Promise.all(range(1, 3000).map((n) => b.bus.publish({ type: 'tick', data: n })))
    proxy.target = server.port
    const one = last(await publish(b.bus, 1))
    const waited = [
      new Follower(a.bus, { lastEventId: 3, epoch: a.bus.epoch }),
      new Follower(b.bus, { lastEventId: 3 }),
    ]

    for (const follower of [...live, ...waited]) {
      await follower.upTo(one)
      expect(follower.reasons).toEqual(['ring_evicted'])
    }
    await connected.upTo(one)
    expect(connected.events).toHaveLength(3006)
    expect(connected.resyncs).toEqual([])
  })
})

describeOnRedis('a stream that somebody trims', () => {
  it.each(['XTRIM', 'XDEL of the newest'])(
    'costs only those who had not read it: %s',
    { timeout: TIMEOUT },
    async (how) => {
      const server = await RedisServer.start()
      const [a, b] = await pair(server.url)
      const live = [new Follower(a.bus), new Follower(b.bus)]
      const told = await publish(a.bus, BEFORE)
      for (const follower of live) await follower.upTo(last(told))
      if (how === 'XTRIM') await server.call('XTRIM', KEY, 'MINID', '0-8')
      else await server.call('XDEL', KEY, ...range(1, BEFORE).map((id) => `0-${id}`))
      const left = how === 'XTRIM' ? 8 : BEFORE + 1

      const resumed = [a, b].map(({ bus }) => new Follower(bus, { lastEventId: 2 }))
      await until(() => resumed.every(({ resyncs }) => resyncs.length > 0), 'a resync for each')
      const one = last(await publish(b.bus, 2))
      for (const follower of resumed) {
        await follower.upTo(one)
        expect(follower.resyncs).toMatchObject([
          { reason: 'ring_evicted', lastDeliveredId: 2, earliestAvailableId: left, epoch: a.bus.epoch },
        ])
      }
      for (const follower of live) {
        await follower.upTo(one)
        expect(follower.resyncs).toEqual([])
      }
    },
  )
})
