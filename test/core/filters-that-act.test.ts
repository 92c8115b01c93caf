import { describe, expect, it } from 'vitest'
import type { EventBus, Subscription } from '../../src/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { complete, DONE } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

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
