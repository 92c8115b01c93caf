import { describe, expect, it } from 'vitest'
import type { BusEvent, Filter, FilterIndex } from '../../src/index.ts'
import { EventBus } from '../../src/index.ts'
import { observedBus, publish } from '../support/bus.ts'
import { complete, DONE, evicted } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

/** A kind of filters that are found by the one type they are for. */
class ByType {
  /** Every look into an index of this kind. */
  looks = 0
  indexes = 0
  readonly busIndex = (): FilterIndex => {
    this.indexes++
    const found = new Map<string, Set<unknown>>()
    const typeOf = (filter: Filter) => (filter as Filter & { type: string }).type
    return {
      add: (subscriber, filter) => {
        const type = typeOf(filter)
        found.set(type, (found.get(type) ?? new Set()).add(subscriber))
      },
      delete: (subscriber, filter) => {
        found.get(typeOf(filter))?.delete(subscriber)
      },
      find: (event) => {
        this.looks++
        return [...(found.get(event.type) ?? [])]
      },
    }
  }

  filter(type: string, more: Partial<Filter> = {}): Filter {
    return Object.assign((event: BusEvent) => event.type === type, { type, busIndex: this.busIndex, ...more })
  }
}

describe('a subscriber whose filter carries an index', () => {
  it('is offered what the index finds it for, and its filter is asked of no other live event', async () => {
    const bus = new EventBus()
    const asked: number[] = []
    const { type, busIndex } = new ByType().filter('a') as Filter & { type: string }
    const filter = Object.assign((event: BusEvent) => asked.push(event.id) > 0, { type, busIndex })
    const subscription = bus.subscribe({ filter })
    for (const one of ['a', 'b', 'a']) bus.publish({ type: one })
    expect(await framesOf(subscription)).toEqual([1, 3])
    expect(asked).toEqual([1, 3])
  })

  it('shares the index with its kind on one bus, and with nobody else', () => {
    const kind = new ByType()
    const buses = [new EventBus(), new EventBus()]
    for (const bus of buses) for (const type of ['a', 'b', 'c']) bus.subscribe({ filter: kind.filter(type) })
    expect(kind.indexes).toBe(2)
    buses[0]?.publish({ type: 'a' })
    expect(kind.looks).toBe(1)
  })

  it('lives beside other kinds and plain subscribers', async () => {
    const bus = new EventBus()
    const plain = bus.subscribe()
    const both = [new ByType(), new ByType()].map((kind) => bus.subscribe({ filter: kind.filter('a') }))
    bus.publish({ type: 'a' })
    bus.publish({ type: 'b' })
    expect(await framesOf(plain)).toEqual([1, 2])
    for (const one of both) expect(await framesOf(one)).toEqual([1])
  })

  it('is counted, listed and limited like any other', () => {
    const bus = new EventBus({ maxSubscribers: 1 })
    const filter = new ByType().filter('a')
    const subscription = bus.subscribe({ filter })
    bus.publish({ type: 'a' })
    expect(bus.subscriberCount).toBe(1)
    expect(bus.stats().subscribers).toMatchObject([{ queued: 1 }])
    expect(() => bus.subscribe({ filter })).toThrow('maxSubscribers')
    void subscription.return()
    expect(bus.subscriberCount).toBe(0)
    bus.subscribe({ filter })
  })

  it('is asked about a found event by what the filter carries for that', async () => {
    const bus = new EventBus()
    const onFound = ({ id }: BusEvent) => id !== 2
    const subscription = bus.subscribe({ filter: new ByType().filter('a', { onFound }) })
    for (let i = 0; i < 3; i++) bus.publish({ type: 'a' })
    expect(await framesOf(subscription)).toEqual([1, 3])
  })

  it('is not given an event about which it throws; the bus is told', async () => {
    const { bus, reports } = observedBus()
    const error = new Error('no')
    const onFound = () => {
      throw error
    }
    const subscription = bus.subscribe({ filter: new ByType().filter('a', { onFound }) })
    const neighbour = bus.subscribe({ filter: new ByType().filter('a') })
    bus.publish({ type: 'a' })
    expect(await framesOf(subscription)).toEqual([])
    expect(await framesOf(neighbour)).toEqual([1])
    expect(reports).toEqual([{ type: 'callback_error', error }])
  })

  it('resumes by its filter, and is live by the index', async () => {
    const bus = new EventBus()
    for (const type of ['a', 'b', 'a']) bus.publish({ type })
    const subscription = bus.subscribe({ lastEventId: 0, filter: new ByType().filter('a') })
    for (const type of ['b', 'a']) bus.publish({ type })
    bus.end()
    expect(await framesOf(subscription)).toEqual([1, 3, complete(2, 3), 5, DONE])
  })

  it('is evicted like any other, and found no more', async () => {
    const bus = new EventBus({ maxQueued: 1 })
    const kind = new ByType()
    const subscription = bus.subscribe({ filter: kind.filter('a'), warnings: false })
    for (const type of ['a', 'b', 'a', 'a', 'b']) bus.publish({ type })
    expect(bus.subscriberCount).toBe(0)
    const told = evicted({ reason: 'queue_overflow', droppedAfter: 1, queueSize: 1, maxQueued: 1 })
    expect(await framesOf(subscription)).toEqual([1, told, DONE])
    expect(subscription.position).toBe(2)
  })

  it('is told of an event that does not fit, where its filter carries a way to tell it, and stays', async () => {
    const { bus, reports } = observedBus({ maxQueued: 2 })
    const missed: number[] = []
    const onFull = ({ id }: BusEvent) => {
      missed.push(id)
    }
    const subscription = bus.subscribe({ filter: new ByType().filter('a', { onFull }), warnings: false })
    for (let i = 0; i < 4; i++) bus.publish({ type: 'a' })
    expect(missed).toEqual([3, 4])
    expect(bus.subscriberCount).toBe(1)
    expect(await framesOf(subscription)).toEqual([1, 2])
    bus.publish({ type: 'a' })
    expect(await framesOf(subscription)).toEqual([5])
    expect(reports).toEqual([])
    expect(bus.stats().evicted).toBe(0)
  })
})

it('a filter that throws when it is told so is reported, and nobody else is disturbed', async () => {
  const { bus, reports } = observedBus({ maxQueued: 1 })
  const error = new Error('no')
  const onFull = () => {
    throw error
  }
  bus.subscribe({ filter: new ByType().filter('a', { onFull }), warnings: false })
  const neighbour = bus.subscribe({ filter: new ByType().filter('a'), maxQueued: 9 })
  for (let i = 0; i < 2; i++) bus.publish({ type: 'a' })
  expect(await framesOf(neighbour)).toEqual([1, 2])
  expect(reports).toEqual([{ type: 'callback_error', error }])
  expect(bus.subscriberCount).toBe(2)
})

describe('the position of a subscriber whose filter carries an index', () => {
  const subscribed = () => {
    const bus = new EventBus()
    return { bus, subscription: bus.subscribe({ filter: new ByType().filter('a') }) }
  }

  it('moves with the bus over events that the index kept away', () => {
    const { bus, subscription } = subscribed()
    for (let id = 1; id <= 3; id++) {
      bus.publish({ type: 'b' })
      expect(subscription.position).toBe(id)
    }
    expect(subscription.lastDeliveredId).toBe(0)
  })

  it('stays before an event that is queued until that is handed out', async () => {
    const { bus, subscription } = subscribed()
    for (const type of ['b', 'a', 'b', 'b']) bus.publish({ type })
    expect(subscription.position).toBe(1)
    await take(subscription, 1)
    expect(subscription.position).toBe(4)
  })

  it('does not run ahead of an event that is being given to others', () => {
    const { bus, subscription } = subscribed()
    const seen: number[] = []
    bus.subscribe({ filter: () => seen.push(subscription.position) > 0 })
    bus.publish({ type: 'b' })
    bus.publish({ type: 'a' })
    expect(seen).toEqual([0, 1])
  })

  it('stands still once the subscription is closed', async () => {
    const { bus, subscription } = subscribed()
    publish(bus, 2)
    void subscription.return()
    publish(bus, 2)
    expect(subscription.position).toBe(2)
  })

  it('moves on behind a replay', async () => {
    const bus = new EventBus()
    for (const type of ['a', 'b']) bus.publish({ type })
    const subscription = bus.subscribe({ lastEventId: 0, filter: new ByType().filter('a') })
    publish(bus, 2)
    expect(subscription.position).toBe(0)
    expect(await framesOf(subscription)).toEqual([1, complete(1, 1)])
    expect(subscription.position).toBe(4)
  })
})

describe('what happens inside a fan-out to subscribers that an index finds', () => {
  it('keeps ids in order for each, however publishes are nested', async () => {
    const bus = new EventBus()
    const kind = new ByType()
    const onFound = ({ id }: BusEvent) => {
      if (id < 50) bus.publish({ type: 'a' })
      return true
    }
    const all = [1, 2].map(() => bus.subscribe({ filter: kind.filter('a', { onFound }) }))
    bus.publish({ type: 'a' })
    const ids = Array.from({ length: bus.lastEventId }, (_, at) => at + 1)
    for (const one of all) expect(await framesOf(one)).toEqual(ids)
  })

  it('gives the event neither to one that joined nor to one that left', async () => {
    const bus = new EventBus()
    const kind = new ByType()
    const joined: ReturnType<EventBus['subscribe']>[] = []
    const found: string[] = []
    const onFound = () => {
      if (joined.length > 0) return true
      joined.push(bus.subscribe({ filter: kind.filter('a') }))
      void leaving.return()
      return true
    }
    bus.subscribe({ filter: kind.filter('a', { onFound }) })
    const leaving = bus.subscribe({ filter: kind.filter('a', { onFound: () => found.push('left') > 0 }) })
    bus.publish({ type: 'a' })
    bus.publish({ type: 'a' })
    expect(found).toEqual([])
    expect(await framesOf(joined[0] as never)).toEqual([2])
    expect(bus.subscriberCount).toBe(2)
  })
})
