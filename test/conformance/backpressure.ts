import { describe, expect, it } from 'vitest'
import { abortListeners } from '../support/bus.ts'
import { complete, DONE, evicted, range, warning } from '../support/frames.ts'
import { publish, publishBytes, Reports, read, rest, type World } from './world.ts'

const silent = { warnings: false }

export function backpressure({ open, busWith }: World): void {
  describe('the backlog', () => {
    it('is the live events that were not read', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publish(bus, 3)
      expect(subscription.queued).toBe(3)
      await read(subscription, 4)
      expect(subscription.queued).toBe(3)
      await read(subscription, 1)
      expect(subscription.queued).toBe(2)
    })

    it('does not hold what was handed to a reader that waits, also with several next() waiting', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 1, ...silent })
      const nexts = [subscription.next(), subscription.next(), subscription.next()]
      await publish(bus, 4)
      expect([subscription.closed, subscription.queued]).toEqual([false, 1])
      expect((await Promise.all(nexts)).map((result) => result.value?.id)).toEqual([1, 2, 3])
      expect(await read(subscription, 1)).toEqual([4])
    })

    it('may be as long as maxQueued, which is 256 by default, per subscriber', async () => {
      const { bus } = await open()
      const [usual, longer] = [bus.subscribe(), bus.subscribe({ maxQueued: 300 })]
      await publish(bus, 256)
      expect([usual.closed, usual.queued]).toEqual([false, 256])
      await publish(bus, 1)
      expect([usual.closed, longer.closed, longer.queued]).toEqual([true, false, 257])
    })

    it('has the bound that the bus was given, unless the subscriber asked for another', async () => {
      const { bus } = await open({ maxQueued: 2 })
      const [usual, own] = [bus.subscribe(), bus.subscribe({ maxQueued: 3 })]
      await publish(bus, 3)
      expect([usual.closed, own.closed]).toEqual([true, false])
    })

    it('has no bound with Infinity, and then no warning', async () => {
      const { bus } = await open({ maxQueued: Infinity })
      const subscription = bus.subscribe()
      await publish(bus, 500)
      expect([subscription.closed, subscription.queued]).toEqual([false, 500])
      expect(await read(subscription, 500)).toEqual(range(1, 500))
    })
  })

  describe('eviction', () => {
    it('lets the consumer read everything queued, then the terminal frame, then the end', async () => {
      const bus = await busWith(10)
      const subscription = bus.subscribe({ maxQueued: 3, ...silent })
      await publish(bus, 6)
      expect([subscription.closed, subscription.evicted, subscription.queued]).toEqual([true, true, 3])
      expect(await rest(subscription)).toEqual([
        11,
        12,
        13,
        evicted({ reason: 'queue_overflow', droppedAfter: 13, queueSize: 3, maxQueued: 3 }),
        DONE,
      ])
    })

    it('comes behind a replay, which does not count, and a warning', async () => {
      const bus = await busWith(5, { ringSize: 100 })
      const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 2 })
      await publish(bus, 3)
      expect(await rest(subscription)).toEqual([
        ...range(1, 5),
        complete(5, 5),
        6,
        7,
        warning({ queueSize: 2, maxQueued: 2, lastEventId: 7 }),
        evicted({ reason: 'queue_overflow', droppedAfter: 7, queueSize: 2, maxQueued: 2 }),
        DONE,
      ])
    })

    it('is reported once, with the data of the frame', async () => {
      const reports = new Reports()
      const { bus } = await open(reports)
      const data = { reason: 'queue_overflow', droppedAfter: 1, queueSize: 1, maxQueued: 1 } as const
      const subscription = bus.subscribe({ maxQueued: 1, ...silent })
      await publish(bus, 9)
      expect(await reports.first('client_evicted')).toEqual([{ type: 'client_evicted', data }])
      expect(await rest(subscription)).toEqual([1, evicted(data), DONE])
      expect(bus.stats().evicted).toBe(1)
    })

    it('frees the slot and the abort listener at once, whether anybody reads or not', async () => {
      const { bus } = await open()
      const { signal } = new AbortController()
      const subscription = bus.subscribe({ maxQueued: 1, signal })
      expect([bus.subscriberCount, abortListeners(signal)]).toEqual([1, 1])
      await publish(bus, 2)
      expect([bus.subscriberCount, abortListeners(signal)]).toEqual([0, 0])
      expect(bus.stats().subscribers).toEqual([])
      expect(subscription.queued).toBe(1)
    })

    it('takes nothing from anybody else', async () => {
      const { bus } = await open()
      const before = bus.subscribe()
      bus.subscribe({ maxQueued: 1 })
      const after = bus.subscribe()
      await publish(bus, 90)
      for (const other of [before, after]) expect(await read(other, 90)).toEqual(range(1, 90))
    })

    it('leaves no gap for who resumes from droppedAfter', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 3, ...silent })
      await publish(bus, 10)
      const { droppedAfter } = (await rest(subscription)).at(-2) as unknown as { droppedAfter: number }
      const resumed = bus.subscribe({ lastEventId: droppedAfter })
      expect(await read(resumed, 8)).toEqual([...range(4, 10), complete(7, 10)])
    })

    it('drops after what was handed to a reader that waited', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 1, ...silent })
      const next = subscription.next()
      await publish(bus, 3)
      expect((await next).value?.id).toBe(1)
      const told = evicted({ reason: 'queue_overflow', droppedAfter: 2, queueSize: 1, maxQueued: 1 })
      expect(await rest(subscription)).toEqual([2, told, DONE])
    })

    it('does not come while the reader keeps up', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 2, ...silent })
      for (let round = 0; round < 20; round++) {
        const ids = await publish(bus, 2)
        expect(await read(subscription, 2)).toEqual(ids)
      }
      expect(subscription.closed).toBe(false)
    })

    it('is dropped by an abort, with all that the stream still had to say', async () => {
      const { bus } = await open()
      const controller = new AbortController()
      const subscription = bus.subscribe({ maxQueued: 3, signal: controller.signal })
      await publish(bus, 4)
      expect(await read(subscription, 1)).toEqual([1])
      controller.abort()
      expect(await rest(subscription)).toEqual([DONE])
    })
  })

  describe('the byte cap of a queue', () => {
    it('evicts by bytes, with the figures of what was queued', async () => {
      const { bus } = await open({ maxQueuedBytes: 300 })
      const subscription = bus.subscribe(silent)
      await publishBytes(bus, 100, 100, 100)
      expect([subscription.queued, subscription.queuedBytes, subscription.closed]).toEqual([3, 300, false])
      await publishBytes(bus, 60)
      const figures = { queueSize: 3, maxQueued: 256, queuedBytes: 300, maxQueuedBytes: 300 }
      const told = evicted({ reason: 'queue_bytes_overflow', droppedAfter: 3, ...figures })
      expect(await rest(subscription)).toEqual([1, 2, 3, told, DONE])
    })

    it('lets one larger event into an empty queue, and no other', async () => {
      const { bus } = await open({ maxQueuedBytes: 300 })
      const subscription = bus.subscribe(silent)
      await publishBytes(bus, 1000)
      expect([subscription.closed, subscription.queued, subscription.queuedBytes]).toEqual([false, 1, 1000])
      expect(await read(subscription, 1)).toEqual([1])
      expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
      await publishBytes(bus, 60, 1000)
      const figures = { queueSize: 1, maxQueued: 256, queuedBytes: 60, maxQueuedBytes: 300 }
      const told = evicted({ reason: 'queue_bytes_overflow', droppedAfter: 2, ...figures })
      expect(await rest(subscription)).toEqual([2, told, DONE])
    })

    it('does not count a replay that is not read', async () => {
      const bus = await busWith(5, { maxQueuedBytes: 300 })
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publishBytes(bus, 1000)
      expect([subscription.closed, subscription.queuedBytes]).toEqual([false, 1000])
    })

    it.each([{ maxRingBytes: 10_000 }, { maxQueuedBytes: 10_000 }])(
      'may be a subscriber’s own on a bus with %o',
      async (options) => {
        const { bus } = await open(options)
        const [own, usual] = [bus.subscribe({ maxQueuedBytes: 100 }), bus.subscribe()]
        await publishBytes(bus, 60, 60)
        expect([own.closed, usual.closed]).toEqual([true, false])
      },
    )

    it('may be lifted by a subscriber with Infinity', async () => {
      const { bus } = await open({ maxQueuedBytes: 100 })
      const subscription = bus.subscribe({ maxQueuedBytes: Infinity })
      await publishBytes(bus, ...range(1, 10).map(() => 60))
      expect([subscription.closed, subscription.queuedBytes]).toEqual([false, 600])
    })
  })
}
