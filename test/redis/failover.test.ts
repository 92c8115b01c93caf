import { expect, it } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { type ChaosProxy, chaosProxy } from '../support/chaos-proxy.ts'
import { range } from '../support/frames.ts'
import { Follower, type Node, node, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

const TIMEOUT = 30_000

const last = (events: readonly BusEvent[]) => events.at(-1) as BusEvent

interface Site {
  readonly primary: RedisServer
  readonly replica: RedisServer
  readonly nodes: readonly [Node, Node]
  /** The primary dies, and everybody who comes back comes to the replica. */
  failOver(): Promise<void>
}

async function site(): Promise<Site> {
  const primary = await RedisServer.start()
  const replica = await primary.replica()
  const proxies: ChaosProxy[] = [await chaosProxy(primary.port), await chaosProxy(primary.port)]
  const [a, b] = await Promise.all(proxies.map(({ port }) => node(`redis://127.0.0.1:${port}`)))
  return {
    primary,
    replica,
    nodes: [a as Node, b as Node],
    async failOver() {
      await primary.kill()
      await replica.promote()
      for (const proxy of proxies) {
        proxy.target = replica.port
        proxy.cut()
      }
    },
  }
}

describeOnRedis('a failover to a replica', () => {
  it('that has everything loses and doubles nothing', { timeout: TIMEOUT }, async () => {
    const { primary, replica, nodes, failOver } = await site()
    const [a, b] = nodes
    const live = nodes.map(({ bus }) => new Follower(bus))
    const before = [...(await publish(a.bus, 10)), ...(await publish(b.bus, 10))]
    await replica.follow(primary)
    await failOver()
    const after = [...(await publish(a.bus, 10)), ...(await publish(b.bus, 10))]

    expect([...before, ...after].map(({ id }) => id)).toEqual(range(1, 40))
    const resumed = nodes.map(({ bus }) => new Follower(bus, { lastEventId: 15, epoch: bus.epoch }))
    for (const follower of [...live, ...resumed]) {
      await follower.upTo(last(after))
      expect(follower.resyncs).toEqual([])
    }
    expect(live.map(({ events }) => events)).toEqual([
      [...before, ...after],
      [...before, ...after],
    ])
    for (const { changes } of nodes) expect(changes).toEqual(['backend_unavailable', 'backend_available'])
  })

  it.each([0, 3, 100])(
    'that is behind costs each live subscriber and each cursor one resync, also where its ids go on: %d more',
    { timeout: TIMEOUT },
    async (more) => {
      const { primary, replica, nodes, failOver } = await site()
      const [a, b] = nodes
      const { epoch } = a.bus
      const live = [a, a, b, b].map(({ bus }) => new Follower(bus))
      await publish(a.bus, 10)
      await replica.follow(primary)
      await replica.promote()
      const before = last([...(await publish(a.bus, 5)), ...(await publish(b.bus, 5))])
      for (const follower of live) await follower.upTo(before)
      if (more > 0) {
        // A node that came to the replica before the others did.
        const { bus } = await node(replica.url)
        await publish(bus, more)
        await bus.close()
      }
      await failOver()

      await until(() => nodes.every(({ bus }) => bus.epoch !== epoch), 'a new epoch')
      expect(a.bus.epoch).toBe(b.bus.epoch)
      const after = last([...(await publish(a.bus, 2)), ...(await publish(b.bus, 2))])
      const resumed = nodes.flatMap(({ bus }) =>
        [5, 10, 20].map((lastEventId) => new Follower(bus, { lastEventId, epoch })),
      )
      for (const follower of [...live, ...resumed]) {
        await follower.upTo(after)
        expect(follower.reasons).toEqual(['epoch_reset'])
        expect(follower.resyncs[0]?.epoch).toBe(a.bus.epoch)
      }
    },
  )
})
