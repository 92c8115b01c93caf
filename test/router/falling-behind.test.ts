import { describe, expect, it } from 'vitest'
import { type BusLike, EventBus, type Subscription } from '../../src/index.ts'
import { type Gap, type HandlerSubscription, subscribe } from '../../src/router/index.ts'
import { eventOfSize, observedBus, publish } from '../support/bus.ts'
import { range } from '../support/frames.ts'
import { flush } from '../support/reading.ts'
import { SlowHandler } from '../support/router.ts'

/** A bus that knows nothing of indexes: it evicts whoever falls behind. */
function foreign(bus: EventBus): BusLike {
  return new Proxy(bus, {
    get(target, name) {
      if (name !== 'subscribe') {
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      }
      return ({ filter, ...options }: Parameters<BusLike['subscribe']>[0] = {}) =>
        target.subscribe({ ...options, ...(filter && { filter: (event) => filter(event) }) })
    },
  })
}

/** A subscriber that is in its first event while `events` more come. */
async function stuck(bus: EventBus, events: number, on: BusLike = bus) {
  const slow = new SlowHandler()
  const gaps: Gap[] = []
  const errors: unknown[] = []
  const handle = subscribe(
    on,
    { type: 'tick', onGap: (gap) => gaps.push(gap), onError: (error) => errors.push(error) },
    slow.handle,
  )
  publish(bus, 1)
  await flush()
  publish(bus, events)
  return { slow, gaps, errors, handle }
}

describe('a subscriber that falls behind its queue', () => {
  it('gets every event that the ring still has, in order and once', async () => {
    const { bus, reports } = observedBus({ maxQueued: 3 })
    const { slow, gaps, errors } = await stuck(bus, 40)
    expect(bus.stats().subscribers).toMatchObject([{ queued: 3, maxQueued: 3 }])
    await slow.finishAll()
    expect(slow.finished).toEqual(range(1, 41))
    expect([gaps, errors, reports]).toEqual([[], [], []])
    expect(bus.stats()).toMatchObject({ evicted: 0, warned: 0, resyncs: 0 })
  })

  it('keeps its slot all the time', async () => {
    const bus = new EventBus({ maxQueued: 2, maxSubscribers: 1 })
    const { slow } = await stuck(bus, 20)
    for (let id = 1; id <= 21; id++) {
      expect(bus.subscriberCount).toBe(1)
      expect(() => bus.subscribe()).toThrow()
      await slow.finish(id)
    }
    expect(slow.finished).toEqual(range(1, 21))
  })

  it('goes on from its own position, not from its last event', async () => {
    const bus = new EventBus({ maxQueued: 2, ringSize: 10 })
    const { slow, gaps, handle } = await stuck(bus, 3)
    // What it has no use for does not count against it, though it fills the ring.
    for (let i = 0; i < 7; i++) bus.publish({ type: 'other' })
    expect(handle.position).toBe(0)
    await slow.finish(1)
    await slow.finish(2)
    expect(handle.position).toBe(2)
    await slow.finishAll()
    expect(slow.finished).toEqual([1, 2, 3, 4])
    expect(gaps).toEqual([])
    expect(handle.position).toBe(11)
  })

  it('is told of the gap that the ring does not cover, and goes on behind it', async () => {
    const bus = new EventBus({ maxQueued: 2, ringSize: 4 })
    const { slow, gaps } = await stuck(bus, 20)
    await slow.finishAll()
    expect(slow.finished).toEqual([1, 2, 3, 18, 19, 20, 21])
    expect(gaps).toEqual([{ from: 4, to: 17 }])
  })

  it('is told of a gap by onError where it has no onGap', async () => {
    const bus = new EventBus({ maxQueued: 1, ringSize: 1 })
    const slow = new SlowHandler()
    const told: unknown[] = []
    subscribe(bus, { type: 'tick', onError: (error, source) => told.push(error, source) }, slow.handle)
    publish(bus, 1)
    await flush()
    publish(bus, 5)
    await slow.finishAll()
    expect(told).toEqual([
      expect.objectContaining({ code: 'gap', from: 3, to: 5 }),
      { pattern: { type: 'tick' } },
    ])
  })

  it('frees its slot where it is closed by whoever is told of the gap', async () => {
    let handle: HandlerSubscription | undefined
    const bus = new EventBus({ ringSize: 4, maxQueued: 2, onDiagnostic: () => void handle?.close() })
    const slow = new SlowHandler()
    handle = subscribe(bus, {}, slow.handle)
    publish(bus, 20)
    await flush()
    await slow.finishAll()
    expect(slow.finished).toEqual([1, 2])
    expect(bus.subscriberCount).toBe(0)
  })

  it('that comes with a cursor that the ring has left is told of the gap too', async () => {
    const bus = new EventBus({ ringSize: 2 })
    publish(bus, 5)
    const gaps: Gap[] = []
    const seen: number[] = []
    subscribe(bus, { lastEventId: 1, onGap: (gap) => gaps.push(gap) }, ({ id }) => seen.push(id))
    await flush()
    expect(gaps).toEqual([{ from: 2, to: 3 }])
    expect(seen).toEqual([4, 5])
  })

  it('has what it misses reported where its onGap fails', async () => {
    const { bus, reports } = observedBus({ ringSize: 2 })
    publish(bus, 5)
    const error = new Error('no')
    subscribe(bus, { lastEventId: 1, onGap: () => Promise.reject(error) }, () => {})
    await flush()
    expect(reports).toContainEqual({ type: 'callback_error', error })
  })

  it('respects the byte cap of its bus', async () => {
    const { bus, reports } = observedBus({ maxQueuedBytes: 500, maxRingBytes: 100_000 })
    const slow = new SlowHandler()
    subscribe(bus, {}, slow.handle)
    for (let i = 0; i < 20; i++) {
      bus.publish(eventOfSize(200, bus.lastEventId + 1))
      await flush()
    }
    expect(bus.stats().subscribers).toMatchObject([{ queued: 2, queuedBytes: 400 }])
    await slow.finishAll()
    expect(slow.finished).toEqual(range(1, 20))
    expect(reports).toEqual([])
  })

  it('gets the rest though its bus has ended', async () => {
    const bus = new EventBus({ maxQueued: 2 })
    const { slow } = await stuck(bus, 9)
    bus.end()
    await slow.finishAll()
    expect(slow.finished).toEqual(range(1, 10))
    expect(bus.subscriberCount).toBe(0)
  })

  it('reads what is queued where its bus has closed, and is told of the rest as a gap', async () => {
    const bus = new EventBus({ maxQueued: 2 })
    const { slow, gaps } = await stuck(bus, 9)
    bus.close()
    await slow.finishAll()
    expect(slow.finished).toEqual([1, 2, 3])
    expect(gaps).toEqual([{ from: 4, to: 10 }])
  })
})

describe('on a bus that evicts', () => {
  it('it goes on where it was', async () => {
    const bus = new EventBus({ maxQueued: 3 })
    const { slow, gaps } = await stuck(bus, 40, foreign(bus))
    await slow.finishAll()
    expect(slow.finished).toEqual(range(1, 41))
    expect(gaps).toEqual([])
    expect(bus.subscriberCount).toBe(1)
  })

  it('it ends, and says why, where somebody took its slot', async () => {
    const bus = new EventBus({ maxQueued: 1, maxSubscribers: 1 })
    const { slow, errors, handle } = await stuck(bus, 5, foreign(bus))
    bus.subscribe()
    await slow.finishAll()
    expect(slow.finished).toEqual([1, 2])
    expect(errors).toEqual([expect.objectContaining({ code: 'subscriber_limit_exceeded' })])
    await handle.close()
  })

  it('it ends, and says why, where the subscription fails', async () => {
    const bus = new EventBus()
    let fail = (_: unknown) => {}
    const failing: BusLike = new Proxy(foreign(bus), {
      get: (target, name) =>
        name === 'subscribe'
          ? (options: never) => {
              const subscription: Subscription = target.subscribe(options)
              const receive = subscription.receive.bind(subscription)
              return Object.assign(subscription, {
                receive: (resolve: never, reject: (error: unknown) => void) => {
                  fail = reject
                  receive(resolve, reject)
                },
              })
            }
          : Reflect.get(target, name),
    })
    const errors: unknown[] = []
    subscribe(failing, { onError: (error) => errors.push(error) }, () => {})
    await flush()
    fail(new Error('away'))
    expect(errors).toEqual([new Error('away')])
    expect(bus.subscriberCount).toBe(0)
  })
})
