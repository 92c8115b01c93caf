import { describe, expect, it, vi } from 'vitest'
import type { ClientEvicted } from '../../src/index.ts'
import { abortListeners, busWith, observedBus, publish, publishBytes } from '../support/bus.ts'
import { complete, DONE, evicted, range, warning } from '../support/frames.ts'
import { flush, framesOf, rawFramesOf, take } from '../support/reading.ts'

const silent = { warnings: false }

describe('the backlog', () => {
  it('is the live events that were not read', async () => {
    const bus = busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0 })
    publish(bus, 3)
    expect(subscription.queued).toBe(3)
    await take(subscription, 4)
    expect(subscription.queued).toBe(3)
    await take(subscription, 1)
    expect(subscription.queued).toBe(2)
  })

  it('does not hold an event that was handed to a waiting next()', async () => {
    const { bus, reports } = observedBus()
    const subscription = bus.subscribe({ maxQueued: 1 })
    for (let id = 1; id <= 20; id++) {
      const next = subscription.next()
      publish(bus, 1)
      expect(subscription.queued).toBe(0)
      expect((await next).value?.id).toBe(id)
    }
    expect(reports).toEqual([])
  })

  it('a reader that waits is never evicted, also with several next() waiting', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1, ...silent })
    const nexts = [subscription.next(), subscription.next(), subscription.next()]
    publish(bus, 4)
    expect([subscription.closed, subscription.queued]).toEqual([false, 1])
    expect((await Promise.all(nexts)).map((result) => result.value?.id)).toEqual([1, 2, 3])
    expect(await take(subscription, 1)).toEqual([4])
  })

  it('may be as long as maxQueued, which is 256 by default, per subscriber', () => {
    const bus = busWith(0)
    const usual = bus.subscribe()
    const longer = bus.subscribe({ maxQueued: 300 })
    publish(bus, 256)
    expect([usual.closed, usual.queued]).toEqual([false, 256])
    publish(bus, 1)
    expect([usual.closed, longer.closed]).toEqual([true, false])
    expect(longer.queued).toBe(257)
  })

  it('has the bound that the bus was given, unless the subscriber asked for another', () => {
    const bus = busWith(0, { maxQueued: 2 })
    const [usual, own] = [bus.subscribe(), bus.subscribe({ maxQueued: 3 })]
    expect(bus.stats().subscribers.map((subscriber) => subscriber.maxQueued)).toEqual([2, 3])
    publish(bus, 3)
    expect([usual.closed, own.closed]).toEqual([true, false])
  })

  it('has no bound with Infinity, and then no warning', async () => {
    const { bus, reports } = observedBus({ maxQueued: Infinity })
    const subscription = bus.subscribe()
    publish(bus, 20_000)
    expect([subscription.closed, subscription.queued]).toEqual([false, 20_000])
    expect(reports).toEqual([])
  })
})

describe('eviction', () => {
  it('lets the consumer read everything queued, then the terminal frame, then the end', async () => {
    const bus = busWith(10)
    const subscription = bus.subscribe({ maxQueued: 3, ...silent })
    publish(bus, 4)
    expect(await framesOf(subscription)).toEqual([
      11,
      12,
      13,
      evicted({ reason: 'queue_overflow', droppedAfter: 13, queueSize: 3, maxQueued: 3 }),
      DONE,
    ])
  })

  it('happens once, however much is published afterwards', async () => {
    const { bus, reports } = observedBus()
    const subscription = bus.subscribe({ maxQueued: 1, ...silent })
    publish(bus, 50)
    expect(reports.filter((report) => report.type === 'client_evicted')).toHaveLength(1)
    expect(bus.stats().evicted).toBe(1)
    expect(await framesOf(subscription)).toHaveLength(3)
  })

  it('frees the slot and the abort listener at once', () => {
    const bus = busWith(0)
    const { signal } = new AbortController()
    const subscription = bus.subscribe({ maxQueued: 1, signal })
    expect([bus.subscriberCount, abortListeners(signal)]).toEqual([1, 1])
    publish(bus, 2)
    expect([bus.subscriberCount, abortListeners(signal)]).toEqual([0, 0])
    expect(subscription.closed).toBe(true)
    expect(bus.stats().subscribers).toEqual([])
  })

  it('later publishes do no work for it', () => {
    const bus = busWith(0)
    const filter = vi.fn(() => true)
    const subscription = bus.subscribe({ maxQueued: 1, filter })
    publish(bus, 2)
    expect(filter).toHaveBeenCalledTimes(2)
    publish(bus, 5)
    expect(filter).toHaveBeenCalledTimes(2)
    expect(subscription.queued).toBe(1)
  })

  it('takes nothing from anybody else', async () => {
    const bus = busWith(0)
    const [before, , after] = [
      bus.subscribe({ maxQueued: 100, ...silent }),
      bus.subscribe({ maxQueued: 1 }),
      bus.subscribe({ maxQueued: 100, ...silent }),
    ]
    publish(bus, 90)
    expect(await framesOf(before)).toEqual(range(1, 90))
    expect(await framesOf(after)).toEqual(range(1, 90))
  })

  it('resuming from droppedAfter leaves no gap', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 3, ...silent })
    publish(bus, 10)
    const last = (await rawFramesOf(subscription)).at(-1)
    if (last?.type !== 'client_evicted') throw new Error('the last frame is not the eviction')
    const resumed = bus.subscribe({ lastEventId: (last as ClientEvicted).data.droppedAfter })
    expect(await framesOf(resumed)).toEqual([...range(4, 10), complete(7, 10)])
  })

  it('droppedAfter is the last event this subscriber was given, not the last one that was published', async () => {
    const bus = busWith(0)
    const odd = bus.subscribe({ maxQueued: 2, ...silent, filter: (event) => event.id % 2 === 1 })
    publish(bus, 5)
    expect((await framesOf(odd)).at(-2)).toEqual(
      evicted({ reason: 'queue_overflow', droppedAfter: 3, queueSize: 2, maxQueued: 2 }),
    )
  })

  it('droppedAfter counts an event that was handed to a waiting next()', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1, ...silent })
    const next = subscription.next()
    publish(bus, 3)
    await next
    expect((await framesOf(subscription)).at(-2)).toMatchObject({ droppedAfter: 2, queueSize: 1 })
  })

  it('does not come while the reader keeps up', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 2, ...silent })
    for (let round = 0; round < 50; round++) {
      publish(bus, 2)
      expect(await take(subscription, 2)).toHaveLength(2)
    }
    expect(subscription.closed).toBe(false)
  })

  it('the idle subscription that nobody iterates is evicted and released', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 3 })
    publish(bus, 3)
    expect(bus.subscriberCount).toBe(1)
    publish(bus, 7)
    expect(bus.subscriberCount).toBe(0)
    expect(await subscription.return()).toEqual({ value: undefined, done: true })
    expect(subscription.queued).toBe(0)
  })

  it('abort drops what an evicted stream still had to say', async () => {
    const bus = busWith(0)
    const controller = new AbortController()
    const subscription = bus.subscribe({ maxQueued: 3, signal: controller.signal })
    publish(bus, 4)
    expect(await take(subscription, 1)).toEqual([1])
    controller.abort()
    expect(await framesOf(subscription)).toEqual([DONE])
  })
})

describe('the byte cap of a queue', () => {
  it('evicts by bytes, with the figures of what was queued', async () => {
    const bus = busWith(0, { maxQueuedBytes: 300 })
    const subscription = bus.subscribe(silent)
    for (let i = 0; i < 3; i++) publishBytes(bus, 100)
    expect([subscription.queued, subscription.queuedBytes, subscription.closed]).toEqual([3, 300, false])
    publishBytes(bus, 60)
    expect(await framesOf(subscription)).toEqual([
      1,
      2,
      3,
      evicted({
        reason: 'queue_bytes_overflow',
        droppedAfter: 3,
        queueSize: 3,
        maxQueued: 256,
        queuedBytes: 300,
        maxQueuedBytes: 300,
      }),
      DONE,
    ])
  })

  it('one event larger than the cap still fits an empty queue', async () => {
    const bus = busWith(0, { maxQueuedBytes: 300 })
    const subscription = bus.subscribe(silent)
    publishBytes(bus, 1000)
    expect([subscription.closed, subscription.queued, subscription.queuedBytes]).toEqual([false, 1, 1000])
    expect(await take(subscription, 1)).toEqual([1])
    expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
    publishBytes(bus, 60)
    publishBytes(bus, 1000)
    expect((await framesOf(subscription)).slice(-3)).toEqual([
      2,
      evicted({
        reason: 'queue_bytes_overflow',
        droppedAfter: 2,
        queueSize: 1,
        maxQueued: 256,
        queuedBytes: 60,
        maxQueuedBytes: 300,
      }),
      DONE,
    ])
  })

  it('an unread replay does not make the queue anything but empty', () => {
    const bus = busWith(5, { maxQueuedBytes: 300 })
    const subscription = bus.subscribe({ lastEventId: 0 })
    publishBytes(bus, 1000)
    expect(subscription.closed).toBe(false)
  })

  it('a subscriber may have its own, where the bus measures', () => {
    for (const options of [{ maxRingBytes: 10_000 }, { maxQueuedBytes: 10_000 }]) {
      const bus = busWith(0, options)
      const own = bus.subscribe({ maxQueuedBytes: 100 })
      const usual = bus.subscribe()
      for (let i = 0; i < 2; i++) publishBytes(bus, 60)
      expect([own.closed, usual.closed]).toEqual([true, false])
    }
  })

  it('may be lifted by a subscriber with Infinity', () => {
    const bus = busWith(0, { maxQueuedBytes: 100 })
    const subscription = bus.subscribe({ maxQueuedBytes: Infinity })
    for (let i = 0; i < 10; i++) publishBytes(bus, 60)
    expect([subscription.closed, subscription.queuedBytes]).toEqual([false, 600])
  })

  it('does not hold what was handed to a waiting next()', async () => {
    const bus = busWith(0, { maxQueuedBytes: 100 })
    const subscription = bus.subscribe()
    const next = subscription.next()
    publishBytes(bus, 1000)
    await flush()
    expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
    expect((await next).value?.id).toBe(1)
  })
})

describe('the byte figures of a control frame', () => {
  it('are there where the subscriber has a byte cap', async () => {
    const bus = busWith(0, { maxQueuedBytes: 1000 })
    const subscription = bus.subscribe({ maxQueued: 2 })
    publishBytes(bus, 60)
    publishBytes(bus, 70)
    publishBytes(bus, 80)
    const figures = { queueSize: 2, maxQueued: 2, queuedBytes: 130, maxQueuedBytes: 1000 }
    expect(await framesOf(subscription)).toEqual([
      1,
      2,
      warning({ ...figures, lastEventId: 2 }),
      evicted({ ...figures, reason: 'queue_overflow', droppedAfter: 2 }),
      DONE,
    ])
  })

  it('are left out where bytes are not capped', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1 })
    publish(bus, 2)
    const frames = (await framesOf(subscription)) as object[]
    expect(Object.keys(frames[1] as object).sort()).toEqual(['lastEventId', 'maxQueued', 'queueSize', 'type'])
    expect(Object.keys(frames[2] as object).sort()).toEqual([
      'droppedAfter',
      'maxQueued',
      'queueSize',
      'reason',
      'type',
    ])
  })
})
