import { expect, it, vi } from 'vitest'
import type { BusEvent } from '../../src/index.ts'
import { complete, DONE, evicted, range, resync } from '../support/frames.ts'
import { beforeNext, publish, publishEvent, Reports, read, rest, type World } from './world.ts'

const odd = (event: BusEvent) => event.id % 2 === 1

const broken = () => {
  throw new Error('broken filter')
}

export function filters({ open, busWith }: World): void {
  it('let through what they say, live and replayed, and the counts are of that', async () => {
    const bus = await busWith(5)
    const subscription = bus.subscribe({ lastEventId: 1, filter: odd })
    await publish(bus, 4)
    expect(subscription.queued).toBe(2)
    expect(await read(subscription, 5)).toEqual([3, 5, complete(2, 5), 7, 9])
  })

  it('that let nothing through leave an empty replay', async () => {
    const bus = await busWith(5, { ringSize: 3 })
    const subscription = bus.subscribe({ lastEventId: 0, filter: (event) => event.type === 'sentinel' })
    expect(await read(subscription, 2)).toEqual([
      resync('ring_evicted', 0, 3, { epoch: bus.epoch }),
      complete(0),
    ])
    expect(await beforeNext(bus, subscription)).toEqual([])
  })

  it('are asked once per event', async () => {
    const bus = await busWith(3)
    const filter = vi.fn(() => true)
    const subscription = bus.subscribe({ lastEventId: 0, filter })
    await publish(bus, 2)
    await read(subscription, 6)
    const asked = (filter.mock.calls as unknown as [BusEvent][]).map(([event]) => event.id)
    expect(asked.sort((a, b) => a - b)).toEqual(range(1, 5))
  })

  it('see the whole event', async () => {
    const { bus } = await open()
    const input = { type: 'a', data: { n: 1 }, path: 'p', _meta: { trace: 1 } }
    const filter = vi.fn((_event: BusEvent) => true)
    bus.subscribe({ filter })
    const event = await publishEvent(bus, input)
    expect(filter.mock.calls).toEqual([[event]])
  })

  it('keep what they refuse out of the backlog', async () => {
    const { bus } = await open()
    const subscription = bus.subscribe({ maxQueued: 1, warnings: false, filter: (event) => event.id === 50 })
    await publish(bus, 50)
    expect([subscription.closed, subscription.queued]).toEqual([false, 1])
    expect(await read(subscription, 1)).toEqual([50])
  })

  it('are asked behind from: the last n of what is retained', async () => {
    const bus = await busWith(6)
    const subscription = bus.subscribe({ from: { last: 3 }, filter: (event) => event.id % 2 === 0 })
    expect(await read(subscription, 3)).toEqual([4, 6, complete(2, 6)])
  })

  it('that throw are reported and count as false, live and replayed', async () => {
    const reports = new Reports()
    const { bus } = await open(reports)
    await publish(bus, 1)
    const resumed = bus.subscribe({ lastEventId: 0, filter: broken })
    expect(await read(resumed, 1)).toEqual([complete(0)])
    await publish(bus, 1)
    expect(resumed.queued).toBe(0)
    const errors = (await reports.first('callback_error', 2)).map((report) => report.error)
    expect(errors).toEqual([new Error('broken filter'), new Error('broken filter')])
  })

  it('that throw take nothing from anybody else', async () => {
    const { bus } = await open()
    const before = bus.subscribe()
    bus.subscribe({ filter: broken })
    const after = bus.subscribe()
    await publish(bus, 2)
    for (const subscription of [before, after]) expect(await read(subscription, 2)).toEqual([1, 2])
  })

  it('are not asked for a subscriber that was evicted', async () => {
    const { bus } = await open()
    const filter = vi.fn(() => true)
    bus.subscribe({ maxQueued: 1, filter })
    await publish(bus, 5)
    expect(filter).toHaveBeenCalledTimes(2)
  })

  it('leave droppedAfter at the last event that was given', async () => {
    const { bus } = await open()
    const subscription = bus.subscribe({ maxQueued: 2, warnings: false, filter: odd })
    await publish(bus, 8)
    expect(await rest(subscription)).toEqual([
      1,
      3,
      evicted({ reason: 'queue_overflow', droppedAfter: 3, queueSize: 2, maxQueued: 2 }),
      DONE,
    ])
  })
}
