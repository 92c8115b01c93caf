import { describe, expect, it } from 'vitest'
import { EventBus, type Subscription } from '../../src/index.ts'
import { busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE, EPOCH, range, resync } from '../support/frames.ts'
import { drained, framesOf, take } from '../support/reading.ts'

describe('publishing from a filter', () => {
  it('gives ids in the order of the calls, and every subscriber sees them increasing', async () => {
    const bus = busWith(0)
    const before = bus.subscribe()
    const publishing = bus.subscribe({
      filter: (event) => {
        if (event.type === 'first') bus.publish({ type: 'second' })
        return true
      },
    })
    const after = bus.subscribe()
    const first = bus.publish({ type: 'first' })
    expect(first?.id).toBe(1)
    for (const subscription of [before, publishing, after]) {
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
    bus.subscribe({
      filter: (event) => {
        if (event.type === 'first') bus.publish({ type: 'second' })
        return false
      },
    })
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
      filter: (event) => {
        if (event.id < 10_000) bus.publish({ type: 'tick' })
        return true
      },
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
      filter: (event) => {
        if (event.id === 2) bus.publish({ type: 'nested' })
        return true
      },
    })
    expect(await framesOf(resumed)).toEqual([1, 2, 3, complete(3, 3), 4])
    expect(bus.lastEventId).toBe(4)
  })

  it('may evict the subscriber whose filter publishes', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({
      maxQueued: 2,
      filter: (event) => {
        if (event.id < 5) bus.publish({ type: 'tick' })
        return true
      },
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

describe('a subscriber that joins inside a fan-out', () => {
  const joining = (bus: EventBus, act: () => void, position: 'first' | 'last') => {
    const filter = (event: { type: string }) => {
      if (event.type === 'first') act()
      return false
    }
    if (position === 'last') for (let i = 0; i < 3; i++) bus.subscribe()
    bus.subscribe({ filter })
    if (position === 'first') for (let i = 0; i < 3; i++) bus.subscribe()
  }

  it.each(['first', 'last'] as const)(
    'gets exactly the ids above the head of that moment (%s)',
    async (where) => {
      const bus = busWith(0)
      const joined: Subscription[] = []
      joining(
        bus,
        () => {
          joined.push(bus.subscribe())
          bus.publish({ type: 'second' })
          joined.push(bus.subscribe())
          bus.publish({ type: 'third' })
        },
        where,
      )
      bus.publish({ type: 'first' })
      publish(bus, 1)
      const [early, late] = joined
      if (early === undefined || late === undefined) throw new Error('nobody joined')
      expect(await framesOf(early)).toEqual([2, 3, 4])
      expect(await framesOf(late)).toEqual([3, 4])
    },
  )

  it('finds the event being delivered in its replay, and not again as live', async () => {
    const bus = busWith(1)
    const joined: Subscription[] = []
    joining(bus, () => joined.push(bus.subscribe({ lastEventId: 0 })), 'first')
    bus.publish({ type: 'first' })
    publish(bus, 1)
    const [resumed] = joined
    if (resumed === undefined) throw new Error('nobody joined')
    expect(await framesOf(resumed)).toEqual([1, 2, complete(2, 2), 3])
  })
})

describe('what a filter does to the bus during a fan-out', () => {
  const neighbours = (act: (subscriptions: Subscription[], bus: EventBus) => void) => {
    const bus = busWith(0)
    const subscriptions: Subscription[] = []
    const filter = (event: { id: number }) => {
      if (event.id === 2) act(subscriptions, bus)
      return true
    }
    subscriptions.push(bus.subscribe(), bus.subscribe({ filter }), bus.subscribe())
    return { bus, subscriptions }
  }

  it('leaving its own subscription takes nothing from the others', async () => {
    const { bus, subscriptions } = neighbours(([, own]) => void own?.return?.())
    publish(bus, 3)
    const [before, own, after] = subscriptions as [Subscription, Subscription, Subscription]
    expect(await framesOf(before)).toEqual([1, 2, 3])
    expect(await framesOf(after)).toEqual([1, 2, 3])
    expect(await framesOf(own)).toEqual([DONE])
    expect([own.queued, own.closed, bus.subscriberCount]).toEqual([0, true, 2])
    expect(bus.stats().evicted).toBe(0)
  })

  it('ending a neighbour takes nothing from the rest', async () => {
    for (const victim of [0, 2]) {
      const { bus, subscriptions } = neighbours((all) => void all[victim]?.return?.())
      publish(bus, 3)
      const [, own] = subscriptions as [Subscription, Subscription, Subscription]
      const other = subscriptions[2 - victim] as Subscription
      expect(await framesOf(own)).toEqual([1, 2, 3])
      expect(await framesOf(other)).toEqual([1, 2, 3])
      expect(await framesOf(subscriptions[victim] as Subscription)).toEqual([DONE])
      expect(bus.subscriberCount).toBe(2)
    }
  })

  it.each(['end', 'close'] as const)(
    '%s() leaves no subscriber without the event whose id was given',
    async (way) => {
      const { bus, subscriptions } = neighbours((_all, bus) => bus[way]())
      publish(bus, 2)
      expect(bus.publish({ type: 'late' })).toBeUndefined()
      for (const subscription of subscriptions) expect(await framesOf(subscription)).toEqual([1, 2, DONE])
      expect(bus.subscriberCount).toBe(0)
    },
  )

  it('close({ drain: false }) drops it for everyone', async () => {
    const { bus, subscriptions } = neighbours((_all, bus) => bus.close({ drain: false }))
    publish(bus, 2)
    for (const subscription of subscriptions) {
      expect(await framesOf(subscription)).toEqual([DONE])
      expect([subscription.queued, subscription.closed]).toEqual([0, true])
    }
  })
})

describe('what a filter does to the bus during its replay', () => {
  const resumedWith = (act: (own: Subscription, bus: EventBus, controller: AbortController) => void) => {
    const bus = busWith(4)
    const controller = new AbortController()
    const own: Subscription = bus.subscribe({
      lastEventId: 0,
      signal: controller.signal,
      filter: (event) => {
        if (event.id === 2) act(own, bus, controller)
        return true
      },
    })
    return { bus, own }
  }

  it.each([
    ['return()', (own: Subscription) => void own.return?.()],
    ['abort', (_own: Subscription, _bus: EventBus, controller: AbortController) => controller.abort()],
    ['close({ drain: false })', (_own: Subscription, bus: EventBus) => bus.close({ drain: false })],
  ])('%s ends it before the event in question', async (_name, act) => {
    const { bus, own } = resumedWith(act)
    expect(await framesOf(own)).toEqual([1, DONE])
    expect(bus.subscriberCount).toBe(0)
  })

  it.each([
    ['return()', (own: Subscription) => void own.return()],
    ['close({ drain: false })', (_own: Subscription, bus: EventBus) => bus.close({ drain: false })],
  ])('%s, and refusing everything, is not asked again', async (_name, act) => {
    const bus = busWith(100)
    const asked: number[] = []
    const own: Subscription = bus.subscribe({
      lastEventId: 0,
      filter: (event) => {
        asked.push(event.id)
        if (event.id === 2) act(own, bus)
        return false
      },
    })
    expect(await framesOf(own)).toEqual([DONE])
    expect(asked).toEqual([1, 2])
  })

  it('close() lets the replay end', async () => {
    const { own } = resumedWith((_own, bus) => bus.close())
    expect(await framesOf(own)).toEqual([1, 2, 3, 4, complete(4, 4), DONE])
  })

  it('next() from inside the filter is answered behind the outer one, each event once', async () => {
    const inner: Promise<IteratorResult<{ id?: number | undefined }, undefined>>[] = []
    const { own } = resumedWith((own) => void inner.push(own.next()))
    expect(await take(own, 2)).toEqual([1, 2])
    expect((await inner[0])?.value?.id).toBe(3)
    expect(await framesOf(own)).toEqual([4, complete(4, 4)])
  })
})
