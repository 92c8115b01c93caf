import { describe, expect, it } from 'vitest'
import { busWith, publish } from '../support/bus.ts'
import { complete, DONE, EPOCH, resync } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

const odd = (event: { id: number }) => event.id % 2 === 1

describe('lastDeliveredId', () => {
  it('starts at the head for a live subscriber', () => {
    expect(busWith(5).subscribe().lastDeliveredId).toBe(5)
  })

  it('starts at the cursor for a resumed one', () => {
    expect(busWith(5).subscribe({ lastEventId: 2 }).lastDeliveredId).toBe(2)
    expect(busWith(5, { ringSize: 2 }).subscribe({ lastEventId: 1 }).lastDeliveredId).toBe(1)
  })

  it.each([
    ['earliest' as const, 2],
    [{ last: 2 }, 3],
    [{ last: 0 }, 5],
    [{ last: 99 }, 2],
  ])('with from %j starts at the id before the first replayed one', (from, start) => {
    expect(busWith(5, { ringSize: 3 }).subscribe({ from }).lastDeliveredId).toBe(start)
  })

  it('with from on an empty bus starts at its head', () => {
    expect(busWith(0, { startAfterId: 7 }).subscribe({ from: 'earliest' }).lastDeliveredId).toBe(7)
  })

  it('is the id of the event last handed out, replayed or live', async () => {
    const bus = busWith(2)
    const subscription = bus.subscribe({ lastEventId: 0 })
    publish(bus, 1)
    const seen: number[] = []
    for (let i = 0; i < 4; i++) {
      await take(subscription, 1)
      seen.push(subscription.lastDeliveredId)
    }
    expect(seen).toEqual([1, 2, 2, 3])
  })

  it('is not moved by what is queued or filtered', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ filter: odd })
    publish(bus, 4)
    expect(subscription.lastDeliveredId).toBe(0)
    await take(subscription, 2)
    expect(subscription.lastDeliveredId).toBe(3)
  })

  it('follows a stale cursor down to the ids that are replayed', async () => {
    const bus = busWith(5, { ringSize: 3 })
    const subscription = bus.subscribe({ lastEventId: 6 })
    await take(subscription, 2)
    expect(subscription.lastDeliveredId).toBe(3)
  })

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
  it('starts where the subscription starts', () => {
    expect(busWith(5).subscribe().position).toBe(5)
    expect(busWith(5).subscribe({ lastEventId: 2 }).position).toBe(2)
    expect(busWith(5, { ringSize: 3 }).subscribe({ from: 'earliest' }).position).toBe(2)
    expect(busWith(5).subscribe({ from: { last: 1 } }).position).toBe(4)
    expect(busWith(5).subscribe({ filter: () => false }).position).toBe(5)
  })

  it('moves with each event handed out, not with those queued', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    publish(bus, 3)
    expect(subscription.position).toBe(0)
    await take(subscription, 2)
    expect(subscription.position).toBe(2)
  })

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

  it('counts a filtered event behind a queued one when that one is handed out', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ filter: odd })
    publish(bus, 4)
    expect(subscription.position).toBe(0)
    await take(subscription, 1)
    expect(subscription.position).toBe(2)
    await take(subscription, 1)
    expect(subscription.position).toBe(4)
    publish(bus, 2)
    expect(subscription.position).toBe(4)
    await take(subscription, 1)
    expect(subscription.position).toBe(6)
  })

  it('moves through a replay, filtered events included', async () => {
    const bus = busWith(5)
    const subscription = bus.subscribe({ lastEventId: 0, filter: (event) => event.id === 2 })
    expect(await take(subscription, 1)).toEqual([2])
    expect(subscription.position).toBeGreaterThanOrEqual(2)
    expect(await take(subscription, 1)).toEqual([complete(1, 2)])
    expect(subscription.position).toBe(5)
  })

  it('does not run ahead of a replay that is not read yet, though live events are filtered', async () => {
    const bus = busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0, filter: (event) => event.id <= 3 })
    publish(bus, 2)
    expect(subscription.position).toBe(0)
    await take(subscription, 2)
    expect(subscription.position).toBe(2)
    await take(subscription, 2)
    expect(subscription.position).toBe(5)
  })

  it('counts what a resync frame announced as gone', async () => {
    const bus = busWith(5, { ringSize: 2 })
    const subscription = bus.subscribe({ lastEventId: 0 })
    expect(await take(subscription, 2)).toEqual([resync('ring_evicted', 0, 4), 4])
    expect(subscription.position).toBe(4)
    await take(subscription, 2)
    expect(subscription.position).toBe(5)
  })

  it('is, after an eviction was read to its end, the id before the refused event', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 2, filter: odd })
    publish(bus, 8)
    const frames = await framesOf(subscription)
    expect(frames.at(-2)).toMatchObject({ type: 'client_evicted', droppedAfter: 3 })
    expect(frames.at(-1)).toBe(DONE)
    expect(subscription.position).toBe(4)
    expect(subscription.lastDeliveredId).toBe(3)
    const resumed = bus.subscribe({ lastEventId: subscription.position, filter: odd })
    expect(await framesOf(resumed)).toEqual([5, 7, complete(2, 7)])
  })

  it('does not run ahead of what an evicted stream has still to say', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 2, warnings: false, filter: odd })
    publish(bus, 8)
    expect(subscription.position).toBe(0)
    await take(subscription, 1)
    expect(subscription.position).toBe(2)
  })

  it('follows a stale cursor down', async () => {
    const bus = busWith(2)
    const subscription = bus.subscribe({ lastEventId: 50 })
    await framesOf(subscription)
    expect(subscription.position).toBe(2)
    publish(bus, 1)
    expect(subscription.position).toBe(3)
  })
})

describe('epoch', () => {
  it('is the epoch of the frame last handed out', async () => {
    const bus = busWith(2)
    const live = bus.subscribe()
    publish(bus, 1)
    await take(live, 1)
    expect(live.epoch).toBe(EPOCH)
    const stale = bus.subscribe({ lastEventId: 1, epoch: 'another' })
    await take(stale, 1)
    expect(stale.epoch).toBe(EPOCH)
  })
})

describe('closed', () => {
  it('means that nothing more will be pushed, though frames may be left to read', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    publish(bus, 1)
    expect(subscription.closed).toBe(false)
    bus.end()
    expect([subscription.closed, subscription.queued]).toEqual([true, 1])
    expect(await framesOf(subscription)).toEqual([1, DONE])
  })
})
