import { describe, expect, it } from 'vitest'
import { complete, DONE, evicted, range, warning } from '../support/frames.ts'
import { beforeNext, publish, publishBytes, Reports, read, rest, type World } from './world.ts'

export function warnings({ open, busWith }: World): void {
  /** A subscriber with a cap, its bus, and how often it was warned so far. */
  async function slow(maxQueued: number) {
    const { bus } = await open()
    const subscription = bus.subscribe({ maxQueued })
    return {
      bus,
      subscription,
      warned: () => bus.stats().warned,
      /** Reads until that many live events are left. */
      drainTo: async (left: number) => {
        while (subscription.queued > left) await read(subscription, 1)
      },
      fillTo: (backlog: number) => publish(bus, backlog - subscription.queued),
    }
  }

  describe('the first warning', () => {
    it.each([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 3],
      [5, 4],
      [8, 6],
      [16, 12],
      [100, 75],
      [256, 192],
    ])('with maxQueued %d comes at a backlog of %d', async (maxQueued, at) => {
      const { bus } = await open()
      const [warned, below] = [bus.subscribe({ maxQueued }), bus.subscribe({ maxQueued })]
      await publish(bus, at - 1)
      expect(await read(below, at - 1)).toEqual(range(1, at - 1))
      await publish(bus, 1)
      const frames = [...range(1, at), warning({ queueSize: at, maxQueued, lastEventId: at })]
      expect(await read(warned, at + 1)).toEqual(frames)
      expect(await read(below, 1)).toEqual([at])
    })

    it('stands right behind the event that raised it', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 4 })
      await publish(bus, 4)
      const told = warning({ queueSize: 3, maxQueued: 4, lastEventId: 3 })
      expect(await read(subscription, 5)).toEqual([1, 2, 3, told, 4])
    })

    it('takes no place in the queue', async () => {
      const { bus, subscription, fillTo } = await slow(8)
      await fillTo(8)
      expect([subscription.closed, subscription.queued]).toEqual([false, 8])
      await publish(bus, 1)
      expect(subscription.closed).toBe(true)
    })

    it('is reported, with the data of the frame', async () => {
      const reports = new Reports()
      const { bus } = await open(reports)
      bus.subscribe({ maxQueued: 4 })
      await publish(bus, 3)
      expect(await reports.first('slow_client_warning')).toEqual([
        { type: 'slow_client_warning', data: { queueSize: 3, maxQueued: 4, lastEventId: 3 } },
      ])
    })

    it('comes behind a replay that is not read yet, in its place', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 2 })
      await publish(bus, 2)
      const told = warning({ queueSize: 2, maxQueued: 2, lastEventId: 4 })
      expect(await read(subscription, 6)).toEqual([1, 2, complete(2, 2), 3, 4, told])
    })
  })

  describe('a second warning', () => {
    it.each([
      [1, 0],
      [2, 0],
      [3, 1],
      [4, 1],
      [5, 1],
      [8, 3],
      [16, 6],
      [256, 96],
    ])('with maxQueued %d comes after a drain to %d, not to one more', async (maxQueued, rearm) => {
      const { warned, drainTo, fillTo } = await slow(maxQueued)
      await fillTo(maxQueued)
      await drainTo(rearm + 1)
      await fillTo(maxQueued)
      expect(warned()).toBe(1)
      await drainTo(rearm)
      await fillTo(maxQueued)
      expect(warned()).toBe(2)
    })

    it('does not come while the backlog moves between the thresholds', async () => {
      const { warned, drainTo, fillTo } = await slow(8)
      await fillTo(6)
      for (let round = 0; round < 10; round++) {
        await drainTo(5)
        await fillTo(7)
      }
      expect(warned()).toBe(1)
    })
  })

  describe('a warning by bytes', () => {
    it('comes at 75 % of the byte cap', async () => {
      const { bus } = await open({ maxQueuedBytes: 800 })
      const subscription = bus.subscribe()
      await publishBytes(bus, 300, 299, 60)
      const bytes = { queuedBytes: 659, maxQueuedBytes: 800 }
      const told = warning({ queueSize: 3, maxQueued: 256, lastEventId: 3, ...bytes })
      expect(await read(subscription, 4)).toEqual([1, 2, 3, told])
    })

    it('re-arms at 37.5 % of the byte cap', async () => {
      const { bus } = await open({ maxQueuedBytes: 800 })
      const subscription = bus.subscribe()
      await publishBytes(bus, 300, 301)
      await read(subscription, 1)
      await publishBytes(bus, 300)
      expect(bus.stats().warned).toBe(1)
      await read(subscription, 2)
      expect(subscription.queuedBytes).toBe(300)
      await publishBytes(bus, 300)
      expect(bus.stats().warned).toBe(2)
    })
  })

  describe('warnings: false', () => {
    it('suppresses the warning, and its report, and nothing else', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1, warnings: false })
      await publish(bus, 2)
      expect(await rest(subscription)).toEqual([
        1,
        2,
        complete(2, 2),
        3,
        evicted({ reason: 'queue_overflow', droppedAfter: 3, queueSize: 1, maxQueued: 1 }),
        DONE,
      ])
      expect(bus.stats()).toMatchObject({ warned: 0, evicted: 1 })
    })
  })

  it('does not come to a reader that keeps up', async () => {
    const { bus, subscription, warned } = await slow(1)
    for (let id = 1; id <= 20; id++) {
      const next = subscription.next()
      await publish(bus, 1)
      expect(subscription.queued).toBe(0)
      expect((await next).value?.id).toBe(id)
    }
    expect(warned()).toBe(0)
    expect(await beforeNext(bus, subscription)).toEqual([])
  })
}
