import { expect, it } from 'vitest'
import { publish, publishBytes, read, type World } from './world.ts'

export function stats({ open, busWith, has }: World): void {
  it('are all zeros on a fresh bus', async () => {
    const { bus } = await open()
    expect(bus.stats()).toEqual({
      published: 0,
      rejected: 0,
      evicted: 0,
      warned: 0,
      resyncs: 0,
      lastEventId: 0,
      earliestAvailableId: 1,
      ringEvents: 0,
      ringBytes: 0,
      subscribers: [],
    })
  })

  it('count published and refused events, warnings, evictions and resyncs', async () => {
    const { bus } = await open({ ringSize: 2, maxQueued: 1, maxRingBytes: 1000 })
    bus.subscribe()
    await publishBytes(bus, 60, 60, 60)
    await bus.publish({ type: '' })
    await bus.publish({ type: 'a', data: 1n })
    for (const lastEventId of [0, 99, 3]) await read(bus.subscribe({ lastEventId }), 1)
    expect(bus.stats()).toMatchObject({
      published: 3,
      rejected: 2,
      evicted: 1,
      warned: 1,
      resyncs: 2,
      lastEventId: 3,
      earliestAvailableId: 2,
      ...(has('ring figures') && { ringEvents: 2, ringBytes: 120 }),
    })
  })

  it('show each subscriber', async () => {
    const bus = await busWith(3, { maxQueuedBytes: 10_000 })
    const live = bus.subscribe({ maxQueued: 7 })
    const replaying = bus.subscribe({ lastEventId: 1 })
    await publishBytes(bus, 100)
    const queued = { queued: 1, queuedBytes: 100 }
    expect(bus.stats().subscribers).toEqual([
      { ...queued, maxQueued: 7, lastDeliveredId: 3, replaying: false },
      { ...queued, maxQueued: 256, lastDeliveredId: 1, replaying: true },
    ])
    await read(live, 1)
    await read(replaying, 3)
    expect(bus.stats().subscribers).toEqual([
      { queued: 0, queuedBytes: 0, maxQueued: 7, lastDeliveredId: 4, replaying: false },
      { ...queued, maxQueued: 256, lastDeliveredId: 3, replaying: false },
    ])
  })

  it('are a snapshot: they do not change afterwards, and changing them changes nothing', async () => {
    const bus = await busWith(1)
    const before = bus.stats()
    await publish(bus, 1)
    bus.subscribe()
    expect(before).toMatchObject({ published: 1, lastEventId: 1, subscribers: [] })
    Object.assign(before, { published: 99 })
    expect(bus.stats().published).toBe(2)
  })

  it('go on after the end', async () => {
    const bus = await busWith(2)
    await bus.close()
    expect(bus.stats()).toMatchObject({ published: 2, lastEventId: 2, subscribers: [] })
  })
}
