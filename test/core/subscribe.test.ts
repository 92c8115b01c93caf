import { describe, expect, it, vi } from 'vitest'
import { EventBus, SubscriberLimitExceededError } from '../../src/index.ts'
import { abortListeners, busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE } from '../support/frames.ts'
import { framesOf, isIdle, take } from '../support/reading.ts'

describe('subscribe', () => {
  it('registers before it returns: what is published next is delivered though nobody iterates yet', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    expect(bus.subscriberCount).toBe(1)
    publish(bus, 2)
    expect(await take(subscription, 2)).toEqual([1, 2])
  })

  it('without a cursor is live only: no replay, no resync frame, no replay_complete', async () => {
    const bus = busWith(5)
    const subscription = bus.subscribe()
    expect(await isIdle(subscription)).toBe(true)
    publish(bus, 1)
    expect(await framesOf(subscription)).toEqual([6])
  })

  it('ignores an epoch without a cursor', async () => {
    const bus = busWith(5)
    const subscription = bus.subscribe({ epoch: 'another' })
    publish(bus, 1)
    expect(await framesOf(subscription)).toEqual([6])
  })

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

  it('on a closed bus returns an ended subscription', async () => {
    const bus = busWith(3)
    bus.close()
    for (const options of [{}, { lastEventId: 0 }, { from: 'earliest' as const }]) {
      const subscription = bus.subscribe(options)
      expect(subscription.closed).toBe(true)
      expect(await framesOf(subscription)).toEqual([DONE])
    }
    expect(bus.subscriberCount).toBe(0)
  })

  it('with an aborted signal returns an ended subscription and registers nothing', async () => {
    const bus = busWith(3)
    const signal = AbortSignal.abort()
    for (const options of [{}, { lastEventId: 0 }, { from: 'earliest' as const }]) {
      const subscription = bus.subscribe({ ...options, signal })
      expect(subscription.closed).toBe(true)
      expect(bus.subscriberCount).toBe(0)
      publish(bus, 1)
      expect(subscription.queued).toBe(0)
      expect(await framesOf(subscription)).toEqual([DONE])
    }
    expect(abortListeners(signal)).toBe(0)
  })
})

describe('maxSubscribers', () => {
  it('is a thrown error with a code and the limit, and nobody is sent away for the newcomer', async () => {
    const { bus, reports } = observedBus({ maxSubscribers: 2 })
    const [a, b] = [bus.subscribe(), bus.subscribe()]
    const { signal } = new AbortController()
    const refusal = () => bus.subscribe({ signal })
    expect(refusal).toThrow(SubscriberLimitExceededError)
    expect(refusal).toThrow(expect.objectContaining({ code: 'subscriber_limit_exceeded', limit: 2 }))
    expect(reports).toEqual([
      { type: 'subscriber_rejected', limit: 2 },
      { type: 'subscriber_rejected', limit: 2 },
    ])
    expect(bus.subscriberCount).toBe(2)
    expect(abortListeners(signal)).toBe(0)
    publish(bus, 1)
    expect(await take(a, 1)).toEqual([1])
    expect(await take(b, 1)).toEqual([1])
  })

  it.each([
    [
      'return',
      (bus: EventBus, subscription: ReturnType<EventBus['subscribe']>) => {
        void subscription.return?.()
        return bus
      },
    ],
    [
      'eviction',
      (bus: EventBus) => {
        publish(bus, 2)
        return bus
      },
    ],
  ])('is free again at once after %s', (_way, end) => {
    const bus = busWith(0, { maxSubscribers: 1, maxQueued: 1 })
    const subscription = bus.subscribe()
    expect(() => bus.subscribe()).toThrow(SubscriberLimitExceededError)
    end(bus, subscription)
    expect(() => bus.subscribe()).not.toThrow()
  })

  it('counts a subscriber that is replaying', () => {
    const bus = busWith(3, { maxSubscribers: 1 })
    bus.subscribe({ lastEventId: 0 })
    expect(() => bus.subscribe()).toThrow(SubscriberLimitExceededError)
  })

  it('is 4096 by default, and Infinity is none', () => {
    const bus = new EventBus()
    for (let i = 0; i < 4096; i++) bus.subscribe()
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

  it('keeps what it refuses from costing the subscriber anything', async () => {
    const { bus, reports } = observedBus()
    const subscription = bus.subscribe({ maxQueued: 2, filter: (event) => event.type.startsWith('a.') })
    for (let i = 0; i < 100; i++) bus.publish({ type: 'b.x', data: i })
    expect([subscription.queued, subscription.closed]).toEqual([0, false])
    expect(reports).toEqual([])
    bus.publish({ type: 'a.x', data: 1 })
    expect(await framesOf(subscription)).toEqual([101])
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
