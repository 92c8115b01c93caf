import { expect, it } from 'vitest'
import { sizeOf } from '../support/bus.ts'
import { complete, resync } from '../support/frames.ts'
import { publish, publishBytes, publishEvent, read, type World } from './world.ts'

export function bytes({ open, busWith, has }: World): void {
  it('of an event are the UTF-8 bytes of its envelope as JSON', async () => {
    const { bus } = await open({ maxQueuedBytes: 100_000 })
    const subscription = bus.subscribe()
    let expected = 0
    for (const data of [
      'äöüß',
      '€中文',
      '😀👩‍👩‍👧',
      'x\ud800y',
      '"\\\n\r\t\0\u0007',
      '\u2028',
      '',
      null,
      { a: [1, 'ü'] },
    ]) {
      const event = await publishEvent(bus, { type: 'größe', data, path: 'ü', 'schlüssel"': ['wert'] })
      expected += sizeOf(event)
      expect(subscription.queuedBytes).toBe(expected)
    }
    await read(subscription, 9)
    expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
  })

  it('queued are those of the live events that were not read', async () => {
    const bus = await busWith(3, { maxQueuedBytes: 10_000 })
    const subscription = bus.subscribe({ lastEventId: 0 })
    expect(subscription.queuedBytes).toBe(0)
    await publishBytes(bus, 100, 200)
    expect(subscription.queuedBytes).toBe(300)
    await read(subscription, 4)
    expect(subscription.queuedBytes).toBe(300)
    await read(subscription, 1)
    expect(subscription.queuedBytes).toBe(200)
  })

  it('without a byte cap are 0, and no subscriber can cap them', async () => {
    for (const options of [{}, { maxRingBytes: Infinity, maxQueuedBytes: Infinity }]) {
      const { bus } = await open(options)
      const subscription = bus.subscribe({ maxQueuedBytes: Infinity })
      await publish(bus, 3)
      expect([subscription.queuedBytes, bus.stats().ringBytes]).toEqual([0, 0])
      expect(() => bus.subscribe({ maxQueuedBytes: 100 })).toThrow(RangeError)
    }
  })

  it('evict from the ring as counts do', async () => {
    const { bus } = await open({ maxRingBytes: 200 })
    await publishBytes(bus, 80, 80, 80, 80, 80)
    expect(bus.earliestAvailableId).toBe(4)
    const gone = bus.subscribe({ lastEventId: 2 })
    const frames = [resync('ring_evicted', 2, 4, { epoch: bus.epoch }), 4, 5, complete(2, 5)]
    expect(await read(gone, 4)).toEqual(frames)
    expect(await read(bus.subscribe({ lastEventId: 3 }), 3)).toEqual([4, 5, complete(2, 5)])
  })

  it('fill the ring exactly', async () => {
    const { bus } = await open({ maxRingBytes: 300 })
    await publishBytes(bus, 100, 100, 100)
    expect(bus.earliestAvailableId).toBe(1)
    await publishBytes(bus, 100)
    expect(bus.earliestAvailableId).toBe(2)
    await publishBytes(bus, 101)
    expect(bus.earliestAvailableId).toBe(4)
  })

  it('of an event larger than the ring empty it: it is delivered live, and is a gap for who resumes', async () => {
    const { bus } = await open({ maxRingBytes: 200 })
    const live = bus.subscribe()
    await publishBytes(bus, 60, 60, 500)
    expect(bus.earliestAvailableId).toBe(4)
    const gone = [resync('ring_evicted', 1, 4, { epoch: bus.epoch }), complete(0)]
    expect(await read(bus.subscribe({ lastEventId: 1 }), 2)).toEqual(gone)
    expect(await read(bus.subscribe({ lastEventId: 3 }), 1)).toEqual([complete(0)])
    await publishBytes(bus, 60)
    expect(await read(live, 4)).toEqual([1, 2, 3, 4])
    expect(await read(bus.subscribe({ lastEventId: 3 }), 2)).toEqual([4, complete(1, 4)])
  })

  it('and counts bound the ring together, whichever is reached first', async () => {
    const { bus: byCount } = await open({ maxRingBytes: 10_000, ringSize: 2 })
    await publishBytes(byCount, 100, 100, 100, 100, 100)
    expect(byCount.earliestAvailableId).toBe(4)
    const { bus: byBytes } = await open({ maxRingBytes: 250, ringSize: 100 })
    await publishBytes(byBytes, 100, 100, 100, 100, 100)
    expect(byBytes.earliestAvailableId).toBe(4)
    const { bus: none } = await open({ maxRingBytes: 250, ringSize: 0 })
    await publishBytes(none, 100, 100, 100)
    expect(none.earliestAvailableId).toBe(4)
  })

  if (has('ring figures')) {
    it('of the ring are shown', async () => {
      const { bus } = await open({ maxRingBytes: 250 })
      await publishBytes(bus, 100, 100, 101)
      expect(bus.stats()).toMatchObject({ ringEvents: 2, ringBytes: 201 })
      await publishBytes(bus, 300)
      expect(bus.stats()).toMatchObject({ ringEvents: 0, ringBytes: 0 })
    })
  }
}
