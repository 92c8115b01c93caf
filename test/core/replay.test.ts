import { describe, expect, it, vi } from 'vitest'
import { busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE, evicted, range, resync, warning } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

describe('a replay never counts against maxQueued', () => {
  it('a resumed subscriber is not evicted by its next live event', async () => {
    const bus = busWith(50, { ringSize: 100 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 4 })
    publish(bus, 4)
    expect([subscription.closed, subscription.queued]).toEqual([false, 4])
    expect(await take(subscription, 10)).toEqual(range(1, 10))
    expect(subscription.queued).toBe(4)
    publish(bus, 1)
    expect(subscription.closed).toBe(true)
    expect(await framesOf(subscription)).toEqual([
      ...range(11, 50),
      complete(50, 50),
      51,
      52,
      53,
      warning({ queueSize: 3, maxQueued: 4, lastEventId: 53 }),
      54,
      evicted({ reason: 'queue_overflow', droppedAfter: 54, queueSize: 4, maxQueued: 4 }),
      DONE,
    ])
  })

  it('nor does the resync frame, nor a warning', async () => {
    const bus = busWith(5, { ringSize: 1 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 4 })
    expect(subscription.queued).toBe(0)
    publish(bus, 4)
    expect([subscription.closed, subscription.queued]).toEqual([false, 4])
    expect(await take(subscription, 3)).toEqual([resync('ring_evicted', 0, 5), 5, complete(1, 5)])
    expect(subscription.queued).toBe(4)
  })

  it('nor raises a warning however long it is', async () => {
    const { bus, reports } = observedBus()
    publish(bus, 500)
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 4 })
    publish(bus, 2)
    expect(reports).toEqual([])
    expect(await framesOf(subscription)).toEqual([...range(1, 500), complete(500, 500), 501, 502])
  })
})

describe('a replay is complete', () => {
  it('however slowly it is read, on a ring of many chunks', async () => {
    const bus = busWith(1000, { ringSize: 1000 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 5000 })
    const read: unknown[] = []
    for (let i = 0; i < 1000; i++) {
      read.push(...(await take(subscription, 1)))
      publish(bus, 3)
    }
    expect(read).toEqual(range(1, 1000))
    expect((await framesOf(subscription)).filter((frame) => typeof frame === 'number')).toEqual(
      range(1001, 4000),
    )
  })

  it('even when an event empties the ring meanwhile', async () => {
    const bus = busWith(3, { maxRingBytes: 1000 })
    const subscription = bus.subscribe({ lastEventId: 0 })
    bus.publish({ type: 'huge', data: 'x'.repeat(2000) })
    expect(bus.stats().ringEvents).toBe(0)
    expect(await framesOf(subscription)).toEqual([1, 2, 3, complete(3, 3), 4])
  })

  it('even when the subscriber is evicted meanwhile', async () => {
    const bus = busWith(5)
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1, warnings: false })
    expect(await take(subscription, 2)).toEqual([1, 2])
    publish(bus, 2)
    expect(subscription.closed).toBe(true)
    expect(await framesOf(subscription)).toEqual([
      3,
      4,
      5,
      complete(5, 5),
      6,
      evicted({ reason: 'queue_overflow', droppedAfter: 6, queueSize: 1, maxQueued: 1 }),
      DONE,
    ])
  })

  it('even when the bus is closed or ended meanwhile', async () => {
    for (const way of ['close', 'end'] as const) {
      const bus = busWith(5)
      const subscription = bus.subscribe({ lastEventId: 0 })
      expect(await take(subscription, 2)).toEqual([1, 2])
      publish(bus, 1)
      bus[way]()
      expect(await framesOf(subscription)).toEqual([3, 4, 5, complete(5, 5), 6, DONE])
    }
  })

  it('even when the bus was ended before and is closed meanwhile', async () => {
    const bus = busWith(3)
    bus.end()
    const subscription = bus.subscribe({ lastEventId: 0 })
    expect(await take(subscription, 1)).toEqual([1])
    bus.close()
    expect(await framesOf(subscription)).toEqual([2, 3, complete(3, 3), DONE])
  })

  it('and close({ drain: false }) drops it, also on an ended bus', async () => {
    for (const ended of [false, true]) {
      const bus = busWith(5)
      if (ended) bus.end()
      const subscription = bus.subscribe({ lastEventId: 0 })
      expect(await take(subscription, 2)).toEqual([1, 2])
      bus.close({ drain: false })
      expect(await framesOf(subscription)).toEqual([DONE])
    }
  })
})

describe('a replay is lazy', () => {
  it('subscribing reads no event of the log', () => {
    const bus = busWith(5000)
    const filter = vi.fn(() => true)
    for (let i = 0; i < 100; i++) bus.subscribe({ lastEventId: 0, filter })
    expect(filter).not.toHaveBeenCalled()
  })

  it('next() reads one event at a time, a batch 256 frames at the most', async () => {
    const bus = busWith(1000)
    const filter = vi.fn(() => true)
    const subscription = bus.subscribe({ lastEventId: 0, filter })
    await subscription.next()
    expect(filter).toHaveBeenCalledTimes(1)
    await subscription.batches().next()
    expect(filter).toHaveBeenCalledTimes(257)
  })

  it('subscribers at different places of one log do not disturb each other', async () => {
    const bus = busWith(600, { ringSize: 600 })
    const subscriptions = [0, 100, 255, 256, 257, 599].map((cursor) => ({
      cursor,
      subscription: bus.subscribe({ lastEventId: cursor, maxQueued: 1000 }),
    }))
    publish(bus, 300)
    for (const { cursor, subscription } of subscriptions.reverse()) {
      const ids = (await framesOf(subscription)).filter((frame) => typeof frame === 'number')
      expect(ids).toEqual(range(cursor + 1, 900))
    }
  })

  it('subscribers that resume while the ring moves each get what was retained at their moment', async () => {
    const bus = busWith(0, { ringSize: 40 })
    const resumed = []
    for (let head = 1; head <= 400; head++) {
      publish(bus, 1)
      resumed.push({ head, subscription: bus.subscribe({ from: 'earliest', maxQueued: 1000 }) })
    }
    for (const { head, subscription } of resumed) {
      const first = Math.max(1, head - 39)
      const replayed = head - first + 1
      expect(await framesOf(subscription)).toEqual([
        ...range(first, head),
        complete(replayed, head),
        ...range(head + 1, 400),
      ])
    }
  })
})
