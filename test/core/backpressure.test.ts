import { describe, expect, it } from 'vitest'
import { busWith, observedBus, publish, publishBytes } from '../support/bus.ts'
import { DONE, evicted, warning } from '../support/frames.ts'
import { flush, framesOf, take } from '../support/reading.ts'

describe('the backlog', () => {
  it('does not hold what was handed to a reader that waits, also when all is published in one turn', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1, warnings: false })
    const nexts = [subscription.next(), subscription.next(), subscription.next()]
    publish(bus, 4)
    expect([subscription.closed, subscription.queued]).toEqual([false, 1])
    expect((await Promise.all(nexts)).map((result) => result.value?.id)).toEqual([1, 2, 3])
    expect(await take(subscription, 1)).toEqual([4])
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
  it('happens once, however much is published afterwards', async () => {
    const { bus, reports } = observedBus()
    const subscription = bus.subscribe({ maxQueued: 1, warnings: false })
    publish(bus, 50)
    expect(reports.filter((report) => report.type === 'client_evicted')).toHaveLength(1)
    expect(bus.stats().evicted).toBe(1)
    expect(await framesOf(subscription)).toHaveLength(3)
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
})

describe('the byte cap of a queue', () => {
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
