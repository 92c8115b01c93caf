import { describe, expect, it, vi } from 'vitest'
import { EventBus, SubscriberLimitExceededError } from '../../src/index.ts'
import { abortListeners, busWith, observedBus, publish } from '../support/bus.ts'
import { complete } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

describe('subscribe', () => {
  it('takes an explicit undefined for an option left out', async () => {
    const bus = busWith(5)
    const subscription = bus.subscribe({
      lastEventId: undefined,
      epoch: undefined,
      from: undefined,
      signal: undefined,
      maxQueued: undefined,
      maxQueuedBytes: undefined,
      filter: undefined,
      warnings: undefined,
    })
    expect(bus.stats().subscribers).toMatchObject([{ maxQueued: 256 }])
    publish(bus, 1)
    expect(await framesOf(subscription)).toEqual([6])
  })

  it('can be iterated with for await', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    publish(bus, 3)
    bus.end()
    const ids: unknown[] = []
    for await (const frame of subscription) ids.push(frame.id)
    expect(ids).toEqual([1, 2, 3])
  })

  it('is its own iterator', () => {
    const subscription = busWith(0).subscribe()
    expect(subscription[Symbol.asyncIterator]()).toBe(subscription)
  })

  it('with an aborted signal leaves no listener on it, and is given nothing', () => {
    const bus = busWith(3)
    const signal = AbortSignal.abort()
    for (const options of [{}, { lastEventId: 0 }, { from: 'earliest' as const }]) {
      const subscription = bus.subscribe({ ...options, signal })
      publish(bus, 1)
      expect([subscription.queued, abortListeners(signal)]).toEqual([0, 0])
    }
  })
})

describe('maxSubscribers', () => {
  it('is 4096 by default, and Infinity is none', () => {
    const bus = new EventBus()
    for (let i = 0; i < 4096; i++) bus.subscribe()
    expect(() => bus.subscribe()).toThrow(SubscriberLimitExceededError)
    expect(() => bus.subscribe()).toThrow(expect.objectContaining({ limit: 4096 }))
    const open = new EventBus({ maxSubscribers: Infinity })
    for (let i = 0; i < 5000; i++) open.subscribe()
    expect(open.subscriberCount).toBe(5000)
  })
})

describe('filter', () => {
  const odd = (event: { id: number }) => event.id % 2 === 1

  it('is asked once per live event, before it is queued', async () => {
    const bus = busWith(0)
    const filter = vi.fn(odd)
    const subscription = bus.subscribe({ filter })
    publish(bus, 4)
    expect(filter.mock.calls.map(([event]) => event.id)).toEqual([1, 2, 3, 4])
    expect(subscription.queued).toBe(2)
    expect(await framesOf(subscription)).toEqual([1, 3])
    expect(filter).toHaveBeenCalledTimes(4)
  })

  it('is asked for events that a waiting reader would take', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ filter: (event) => event.id === 3 })
    const next = subscription.next()
    publish(bus, 3)
    expect((await next).value?.id).toBe(3)
  })

  it('is asked about a replayed event when the replay reaches it, and once', async () => {
    const bus = busWith(5)
    const filter = vi.fn(odd)
    const subscription = bus.subscribe({ lastEventId: 0, filter })
    expect(filter).not.toHaveBeenCalled()
    expect(await take(subscription, 1)).toEqual([1])
    expect(filter.mock.calls.map(([event]) => event.id)).toEqual([1])
    expect(await take(subscription, 1)).toEqual([3])
    expect(filter.mock.calls.map(([event]) => event.id)).toEqual([1, 2, 3])
    expect(await framesOf(subscription)).toEqual([5, complete(3, 5)])
    expect(filter).toHaveBeenCalledTimes(5)
  })

  it('is never asked about a control frame', async () => {
    const bus = busWith(3, { ringSize: 1 })
    const filter = vi.fn((_event: { id?: number }) => true)
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1, filter })
    publish(bus, 2)
    await framesOf(subscription)
    expect(filter.mock.calls.map(([event]) => event.id)).toEqual([4, 5, 3])
  })

  it('sees the frozen event that the subscriber will get', async () => {
    const bus = busWith(0)
    const seen: unknown[] = []
    const subscription = bus.subscribe({
      filter: (event) => {
        seen.push(event)
        return true
      },
    })
    publish(bus, 1)
    expect((await subscription.next()).value).toBe(seen[0])
    expect(Object.isFrozen(seen[0])).toBe(true)
  })

  it('that throws counts as false and is reported; others get the event, and so does it the next', async () => {
    const { bus, reports } = observedBus()
    const failure = new Error('broken filter')
    const broken = bus.subscribe({
      filter: (event) => {
        if (event.id === 1) throw failure
        return true
      },
    })
    const other = bus.subscribe()
    expect(publish(bus, 2)).toEqual([1, 2])
    expect(await framesOf(broken)).toEqual([2])
    expect(await framesOf(other)).toEqual([1, 2])
    expect(reports).toEqual([{ type: 'callback_error', error: failure }])
    expect(broken.position).toBe(2)
  })

  it('that throws during the replay counts as false and is reported too', async () => {
    const { bus, reports } = observedBus()
    publish(bus, 3)
    const failure = new Error('broken filter')
    const broken = bus.subscribe({
      lastEventId: 0,
      filter: (event) => {
        if (event.id === 2) throw failure
        return true
      },
    })
    expect(await framesOf(broken)).toEqual([1, 3, complete(2, 3)])
    expect(reports).toEqual([{ type: 'callback_error', error: failure }])
  })
})
