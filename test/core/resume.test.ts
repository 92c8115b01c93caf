import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { type BusOptions, busWith, publish, publishBytes } from '../support/bus.ts'
import { complete, DONE, EPOCH, evicted, resync, warning } from '../support/frames.ts'
import { framesOf, isIdle, take } from '../support/reading.ts'
import { mismatch, type Row, resumeTable } from '../support/resume-table.ts'

function prepared(row: Row): EventBus {
  const options: BusOptions = { ringSize: row.ring }
  if (row.startAfterId !== undefined) options.startAfterId = row.startAfterId
  const bus = busWith(row.published, options)
  if (row.ended === true) bus.end()
  return bus
}

describe('a resumed stream', () => {
  it.each(resumeTable)('$title', async (row) => {
    const subscription = prepared(row).subscribe(row.cursor)
    expect(await framesOf(subscription)).toEqual(row.frames)
  })

  it.each(resumeTable)('read as batches, the same: $title', async (row) => {
    const subscription = prepared(row).subscribe(row.cursor)
    const flat = async function* () {
      for await (const batch of subscription.batches()) yield* batch
    }
    expect(await framesOf(flat())).toEqual(row.frames)
  })

  it.each(resumeTable.filter((row) => row.ended !== true))('goes on live behind it: $title', async (row) => {
    const bus = prepared(row)
    const subscription = bus.subscribe(row.cursor)
    const live = publish(bus, 3)
    expect(await framesOf(subscription)).toEqual([...row.frames, ...live])
  })

  it('has no lastReplayedEventId where nothing was replayed', async () => {
    const { value } = await busWith(3).subscribe({ lastEventId: 3 }).next()
    expect(Object.keys(value?.data as object)).toEqual(['replayedCount'])
  })

  it('has a detail only where the epoch differs', async () => {
    const { value } = await busWith(3).subscribe({ lastEventId: 9 }).next()
    expect(Object.keys(value?.data as object).sort()).toEqual([
      'earliestAvailableId',
      'epoch',
      'lastDeliveredId',
      'reason',
    ])
  })
})

describe('backpressure beside a replay', () => {
  it('counts live events only, and evicts behind everything', async () => {
    const bus = busWith(5, { ringSize: 100 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 2 })
    publish(bus, 3)
    expect(await framesOf(subscription)).toEqual([
      1,
      2,
      3,
      4,
      5,
      complete(5, 5),
      6,
      7,
      warning({ queueSize: 2, maxQueued: 2, lastEventId: 7 }),
      evicted({ reason: 'queue_overflow', droppedAfter: 7, queueSize: 2, maxQueued: 2 }),
      DONE,
    ])
  })
})

describe('an epoch reset', () => {
  it('leaves nothing of the stale cursor armed: live ids below it are delivered', async () => {
    const bus = busWith(2)
    const subscription = bus.subscribe({ lastEventId: 50 })
    expect(await framesOf(subscription)).toEqual([resync('epoch_reset', 50, 1), 1, 2, complete(2, 2)])
    publish(bus, 2)
    expect(await framesOf(subscription)).toEqual([3, 4])
  })

  it('is told by the epoch of the bus, which every bus draws for itself', async () => {
    const [a, b] = [new EventBus(), new EventBus()]
    expect(a.epoch).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(a.epoch).not.toBe(b.epoch)
    publish(b, 2)
    const subscription = b.subscribe({ lastEventId: 1, epoch: a.epoch })
    expect(await framesOf(subscription)).toEqual([
      resync('epoch_reset', 1, 1, { epoch: b.epoch, ...mismatch }),
      1,
      2,
      complete(2, 2),
    ])
  })

  it('does not happen to a bus that was given the old epoch and goes on with its ids', async () => {
    const before = busWith(5)
    const after = new EventBus({ epoch: before.epoch, startAfterId: before.lastEventId })
    expect(after.epoch).toBe(EPOCH)
    const caughtUp = after.subscribe({ lastEventId: 5, epoch: before.epoch })
    const behind = after.subscribe({ lastEventId: 3, epoch: before.epoch })
    publish(after, 1)
    expect(await framesOf(caughtUp)).toEqual([complete(0), 6])
    expect(await framesOf(behind)).toEqual([resync('ring_evicted', 3, 6), complete(0), 6])
  })
})

describe('a gap is judged by what was evicted, not by what is there', () => {
  it('an event that emptied the ring is a gap', async () => {
    const bus = busWith(0, { maxRingBytes: 200 })
    for (const bytes of [60, 60, 500]) publishBytes(bus, bytes)
    expect(bus.earliestAvailableId).toBe(4)
    expect(await framesOf(bus.subscribe({ lastEventId: 2 }))).toEqual([
      resync('ring_evicted', 2, 4),
      complete(0),
    ])
    expect(await framesOf(bus.subscribe({ lastEventId: 3 }))).toEqual([complete(0)])
  })

  it('bytes evict as counts do', async () => {
    const bus = busWith(0, { maxRingBytes: 200 })
    for (let i = 0; i < 5; i++) publishBytes(bus, 80)
    expect(bus.earliestAvailableId).toBe(4)
    expect(await framesOf(bus.subscribe({ lastEventId: 2 }))).toEqual([
      resync('ring_evicted', 2, 4),
      4,
      5,
      complete(2, 5),
    ])
    expect(await framesOf(bus.subscribe({ lastEventId: 3 }))).toEqual([4, 5, complete(2, 5)])
  })
})

describe('what is published between subscribe and the first read', () => {
  it('is live: behind the replay, once', async () => {
    const bus = busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0 })
    publish(bus, 2)
    expect(await framesOf(subscription)).toEqual([1, 2, 3, complete(3, 3), 4, 5])
  })

  it('comes between no two frames of the replay', async () => {
    const bus = busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0 })
    expect(await take(subscription, 2)).toEqual([1, 2])
    publish(bus, 1)
    expect(await framesOf(subscription)).toEqual([3, complete(3, 3), 4])
  })
})

describe('from', () => {
  it('goes on live like a resumed stream', async () => {
    const bus = busWith(5, { ringSize: 3 })
    const subscription = bus.subscribe({ from: { last: 1 } })
    publish(bus, 1)
    expect(await framesOf(subscription)).toEqual([5, complete(1, 5), 6])
    expect(await isIdle(subscription)).toBe(true)
  })

  it('counts the last n of what is retained before the filter', async () => {
    const bus = busWith(6)
    const even = bus.subscribe({ from: { last: 3 }, filter: (event) => event.id % 2 === 0 })
    expect(await framesOf(even)).toEqual([4, 6, complete(2, 6)])
  })
})
