import { describe, expect, it } from 'vitest'
import type { SubscribeOptions } from '../../src/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { complete, EPOCH } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

const odd = (event: { id: number }) => event.id % 2 === 1

describe('where a subscription starts', () => {
  it.each<[SubscribeOptions, number]>([
    [{ lastEventId: 1 }, 1],
    [{ from: 'earliest' }, 2],
    [{ from: { last: 2 } }, 3],
    [{ from: { last: 0 } }, 5],
    [{ from: { last: 99 } }, 2],
  ])('with %j and 3..5 retained is at %d', (options, start) => {
    const { lastDeliveredId, position } = busWith(5, { ringSize: 3 }).subscribe(options)
    expect([lastDeliveredId, position]).toEqual([start, start])
  })

  it('with from on an empty bus is at its head', () => {
    const { lastDeliveredId, position } = busWith(0, { startAfterId: 7 }).subscribe({ from: 'earliest' })
    expect([lastDeliveredId, position]).toEqual([7, 7])
  })

  it('is the head also for one that filters', () => {
    expect(busWith(5).subscribe({ filter: () => false }).position).toBe(5)
  })
})

describe('lastDeliveredId', () => {
  it('is moved by a waiting next() and by a batch', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const next = subscription.next()
    publish(bus, 1)
    await next
    expect(subscription.lastDeliveredId).toBe(1)
    publish(bus, 3)
    await subscription.batches().next()
    expect(subscription.lastDeliveredId).toBe(4)
  })
})

describe('position', () => {
  it('moves over a filtered event at once when nothing is queued before it', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ filter: () => false })
    publish(bus, 3)
    expect([subscription.position, subscription.lastDeliveredId]).toEqual([3, 0])
  })

  it('moves over a filtered event while a reader waits', () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ filter: (event) => event.id === 4 })
    void subscription.next()
    publish(bus, 3)
    expect(subscription.position).toBe(3)
    publish(bus, 2)
    expect(subscription.position).toBe(5)
  })

  it('counts a filtered event behind a queued one when that one is handed out, each time', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ filter: odd })
    for (const read of [0, 2, 4]) {
      publish(bus, 2)
      expect(subscription.position).toBe(read)
      await take(subscription, 1)
      expect(subscription.position).toBe(read + 2)
    }
  })

  it('moves through a replay, filtered events included', async () => {
    const bus = busWith(5)
    const subscription = bus.subscribe({ lastEventId: 0, filter: (event) => event.id === 2 })
    expect(await take(subscription, 1)).toEqual([2])
    expect(subscription.position).toBeGreaterThanOrEqual(2)
    expect(await take(subscription, 1)).toEqual([complete(1, 2)])
    expect(subscription.position).toBe(5)
  })

  it('does not run ahead of a replay that is read in part, though live events are filtered', async () => {
    const bus = busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0, filter: (event) => event.id <= 3 })
    publish(bus, 2)
    await take(subscription, 2)
    expect(subscription.position).toBe(2)
    await take(subscription, 2)
    expect(subscription.position).toBe(5)
  })

  it('does not run ahead of what an evicted stream has still to say', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 2, warnings: false, filter: odd })
    publish(bus, 8)
    await take(subscription, 1)
    expect(subscription.position).toBe(2)
  })

  it('follows a stale cursor down', async () => {
    const bus = busWith(2)
    const subscription = bus.subscribe({ lastEventId: 50 })
    await framesOf(subscription)
    expect([subscription.lastDeliveredId, subscription.position]).toEqual([2, 2])
    publish(bus, 1)
    expect(subscription.position).toBe(3)
  })
})

describe('epoch', () => {
  it('is that of the cursor, and that of the bus once the resync frame was handed out', async () => {
    const stale = busWith(3).subscribe({ lastEventId: 1, epoch: 'another' })
    expect(stale.epoch).toBe('another')
    await take(stale, 1)
    expect(stale.epoch).toBe(EPOCH)
  })
})
