import { describe, expect, it } from 'vitest'
import { type BusEvent, EventBus, type Subscription } from '../../src/index.ts'
import { busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE, EPOCH, range, resync } from '../support/frames.ts'
import { drained, framesOf, take } from '../support/reading.ts'

/** A filter that publishes when it is asked about such an event. */
const publishing =
  (bus: EventBus, type: string, when: (event: BusEvent) => boolean, passes = true) =>
  (event: BusEvent) => {
    if (when(event)) bus.publish({ type })
    return passes
  }

const isFirst = (event: BusEvent) => event.type === 'first'

describe('publishing from a filter', () => {
  it('gives ids in the order of the calls, and every subscriber sees them increasing', async () => {
    const bus = busWith(0)
    const before = bus.subscribe()
    const nesting = bus.subscribe({ filter: publishing(bus, 'second', isFirst) })
    const after = bus.subscribe()
    const first = bus.publish({ type: 'first' })
    expect(first?.id).toBe(1)
    for (const subscription of [before, nesting, after]) {
      expect((await drained(subscription)).values.map((frame) => [frame.id, frame.type])).toEqual([
        [1, 'first'],
        [2, 'second'],
      ])
    }
  })

  it('gives the nested event its id and its ring place at once', () => {
    const bus = busWith(0, { ringSize: 1 })
    const seen: unknown[] = []
    bus.subscribe({
      filter: (event) => {
        if (event.type !== 'first') return true
        const nested = bus.publish({ type: 'second' })
        seen.push(nested?.id, bus.lastEventId, bus.earliestAvailableId, bus.stats().ringEvents)
        return true
      },
    })
    bus.publish({ type: 'first' })
    expect(seen).toEqual([2, 2, 2, 1])
  })

  it('fans the nested event out after the outer one, also to readers who wait', async () => {
    const bus = busWith(0)
    bus.subscribe({ filter: publishing(bus, 'second', isFirst, false) })
    const waiting = bus.subscribe()
    const nexts = [waiting.next(), waiting.next()]
    bus.publish({ type: 'first' })
    expect((await Promise.all(nexts)).map((result) => result.value?.type)).toEqual(['first', 'second'])
  })

  it('survives a chain of 10,000 nested publishes', async () => {
    const bus = busWith(0, { ringSize: 20_000 })
    const other = bus.subscribe({ maxQueued: 20_000 })
    const chained = bus.subscribe({
      maxQueued: 20_000,
      filter: publishing(bus, 'tick', (event) => event.id < 10_000),
    })
    publish(bus, 1)
    expect(bus.lastEventId).toBe(10_000)
    const ids = async (subscription: Subscription) =>
      (await drained(subscription)).values.map((frame) => frame.id).filter((id) => id !== undefined)
    expect(await ids(other)).toEqual(range(1, 10_000))
    expect(await ids(chained)).toEqual(range(1, 10_000))
  })

  it('works during a replay too', async () => {
    const bus = busWith(3)
    const resumed = bus.subscribe({
      lastEventId: 0,
      filter: publishing(bus, 'nested', (event) => event.id === 2),
    })
    expect(await framesOf(resumed)).toEqual([1, 2, 3, complete(3, 3), 4])
    expect(bus.lastEventId).toBe(4)
  })

  it('may evict the subscriber whose filter publishes', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({
      maxQueued: 2,
      filter: publishing(bus, 'tick', (event) => event.id < 5),
    })
    publish(bus, 1)
    const frames = await framesOf(subscription)
    expect(frames.filter((frame) => typeof frame === 'number')).toEqual([1, 2])
    expect(frames.at(-2)).toMatchObject({ type: 'client_evicted', droppedAfter: 2, queueSize: 2 })
    expect(frames.at(-1)).toBe(DONE)
    expect(bus.subscriberCount).toBe(0)
  })
})

describe('publishing from a diagnostic', () => {
  it('keeps ids increasing for everyone', async () => {
    const bus: EventBus = new EventBus({
      onDiagnostic: (report) => {
        if (report.type === 'client_evicted') bus.publish({ type: 'somebody_evicted' })
      },
    })
    const before = bus.subscribe()
    bus.subscribe({ maxQueued: 1 })
    const after = bus.subscribe()
    publish(bus, 2)
    expect(await take(before, 3)).toEqual([1, 2, 3])
    expect(await take(after, 3)).toEqual([1, 2, 3])
  })

  it.each([
    [3, [3, 4, 5]],
    [1, [5]],
    [0, []],
  ])(
    'inside subscribe() costs the newcomer nothing: its resync is true, and what came meanwhile is live (ring %d)',
    async (ringSize, retained) => {
      const bus: EventBus = new EventBus({
        epoch: EPOCH,
        ringSize,
        onDiagnostic: (report) => {
          if (report.type === 'state_resync_required') publish(bus, 2)
        },
      })
      publish(bus, 5)
      const resumed = bus.subscribe({ lastEventId: 0 })
      expect(await framesOf(resumed)).toEqual([
        resync('ring_evicted', 0, 6 - retained.length),
        ...retained,
        complete(retained.length, retained.at(-1)),
        6,
        7,
      ])
    },
  )

  it('survives a chain of 10,000 rejections that each publish', () => {
    let left = 10_000
    const bus: EventBus = new EventBus({
      onDiagnostic: () => {
        if (left-- > 0) bus.publish({ type: '' })
        else bus.publish({ type: 'enough' })
      },
    })
    bus.publish({ type: '' })
    expect(bus.lastEventId).toBe(1)
    expect(bus.stats().rejected).toBe(10_001)
  })

  it('survives a chain of 10,000 warnings that each publish', async () => {
    const bus: EventBus = new EventBus({
      maxQueued: 10_001,
      onDiagnostic: (report) => {
        if (report.type === 'event_rejected' && bus.lastEventId < 10_000) {
          bus.publish({ type: 'tick' })
          bus.publish({ type: '' })
        }
      },
    })
    const subscription = bus.subscribe({ warnings: false })
    bus.publish({ type: '' })
    expect(bus.lastEventId).toBe(10_000)
    expect((await drained(subscription)).values.map((frame) => frame.id)).toEqual(range(1, 10_000))
  })
})

describe('publishing from the data', () => {
  it('a toJSON that publishes does no harm: its event comes first, both are delivered once', async () => {
    const bus = busWith(0, { maxRingBytes: 10_000 })
    const subscription = bus.subscribe()
    const outer = bus.publish({
      type: 'outer',
      data: {
        toJSON() {
          bus.publish({ type: 'inner' })
          return 'json'
        },
      },
    })
    expect(outer?.id).toBe(2)
    const { values } = await drained(subscription)
    expect(values.map((frame) => [frame.id, frame.type])).toEqual([
      [1, 'inner'],
      [2, 'outer'],
    ])
  })

  it('a toJSON that publishes and then throws leaves its own event only', async () => {
    const { bus, reports } = observedBus({ maxRingBytes: 10_000 })
    const subscription = bus.subscribe()
    const outer = bus.publish({
      type: 'outer',
      data: {
        toJSON() {
          bus.publish({ type: 'inner' })
          throw new Error('no')
        },
      },
    })
    expect(outer).toBeUndefined()
    expect(reports.map((report) => report.type)).toEqual(['event_rejected'])
    expect(publish(bus, 1)).toEqual([2])
    expect(await take(subscription, 2)).toEqual([1, 2])
  })

  it('a getter that publishes does no harm', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const outer = bus.publish({
      type: 'outer',
      get data() {
        return bus.publish({ type: 'inner' })?.id
      },
    })
    expect(outer).toMatchObject({ id: 2, data: 1 })
    expect(await take(subscription, 2)).toEqual([1, 2])
  })

  it.each(['end', 'close'] as const)('a getter that calls %s() refuses its own event', async (way) => {
    const bus = busWith(1)
    const subscription = bus.subscribe()
    const outer = bus.publish({
      type: 'outer',
      get data() {
        bus[way]()
        return 1
      },
    })
    expect(outer).toBeUndefined()
    expect(bus.lastEventId).toBe(1)
    expect(await framesOf(subscription)).toEqual([DONE])
  })

  it('a toJSON that closes the bus refuses its own event', async () => {
    const bus = busWith(1, { maxRingBytes: 10_000 })
    const subscription = bus.subscribe()
    const outer = bus.publish({
      type: 'outer',
      data: {
        toJSON() {
          bus.close()
          return 1
        },
      },
    })
    expect(outer).toBeUndefined()
    expect(await framesOf(subscription)).toEqual([DONE])
  })
})
