import { describe, expect, it } from 'vitest'
import { type BusEvent, EventBus } from '../../src/index.ts'
import { subscribe } from '../../src/router/index.ts'
import { abortListeners, busWith, observedBus, publish } from '../support/bus.ts'
import { flush } from '../support/reading.ts'
import { isSettled, SlowHandler } from '../support/router.ts'

const published = async (bus: EventBus, count = 1) => {
  publish(bus, count)
  await flush()
}

describe('a handler', () => {
  it('gets what matches, in order, and nothing inside publish', async () => {
    const bus = new EventBus()
    const seen: BusEvent[] = []
    subscribe(bus, { system: 's', type: 'a.*' }, (event) => seen.push(event))
    bus.publish({ type: 'a.x', system: 's' })
    bus.publish({ type: 'b.x', system: 's' })
    bus.publish({ type: 'a.y' })
    bus.publish({ type: 'a.y', system: 's', data: 7 })
    expect(seen).toEqual([])
    await flush()
    expect(seen.map(({ id }) => id)).toEqual([1, 4])
    expect(seen[1]).toEqual({ id: 4, v: 1, type: 'a.y', system: 's', data: 7 })
  })

  it('that is asynchronous has finished with an event before it gets the next', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    subscribe(bus, {}, slow.handle)
    await published(bus, 3)
    expect(slow.started).toEqual([1])
    await slow.finish(1)
    expect(slow.started).toEqual([1, 2])
  })

  it('that is slow delays nobody else', async () => {
    const bus = new EventBus()
    const seen: number[] = []
    subscribe(bus, {}, new SlowHandler().handle)
    subscribe(bus, {}, ({ id }) => seen.push(id))
    await published(bus, 3)
    expect(seen).toEqual([1, 2, 3])
  })

  it('has others have their turn in the middle of a long run of events', async () => {
    const bus = busWith(1000)
    const order: string[] = []
    subscribe(bus, { lastEventId: 0 }, () => order.push('first'))
    subscribe(bus, { lastEventId: 0 }, () => order.push('second'))
    for (let turn = 0; turn < 10; turn++) await flush()
    expect(order).toHaveLength(2000)
    expect(order.indexOf('second')).toBeLessThan(500)
  })

  it('starts from the past where it is given a cursor', async () => {
    const bus = busWith(4)
    const seen: number[] = []
    subscribe(bus, { lastEventId: 2 }, ({ id }) => seen.push(id))
    await published(bus)
    expect(seen).toEqual([3, 4, 5])
  })

  it('may publish: the events reach it and others in order', async () => {
    const bus = new EventBus()
    const seen: number[] = []
    subscribe(bus, {}, ({ id }) => {
      if (id < 20) bus.publish({ type: 'more' })
    })
    subscribe(bus, {}, ({ id }) => seen.push(id))
    await published(bus)
    for (let turn = 0; turn < 5; turn++) await flush()
    expect(seen).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
  })

  it.each([
    ['throws', () => Promise.resolve(), true],
    ['rejects', () => Promise.resolve(), false],
  ])('that %s is reported with its event and pattern, and gets the next event', async (_, wait, throws) => {
    const bus = new EventBus()
    const errors: unknown[] = []
    const seen: number[] = []
    const failing = (event: BusEvent) => {
      seen.push(event.id)
      const error = new Error(`event ${event.id}`)
      if (throws) throw error
      return wait().then(() => Promise.reject(error))
    }
    const onError = (error: unknown, source: unknown) => errors.push([String(error), source])
    subscribe(bus, { type: 'tick', onError }, failing)
    await published(bus, 2)
    expect(seen).toEqual([1, 2])
    const source = (id: number) => ({ event: expect.objectContaining({ id }), pattern: { type: 'tick' } })
    expect(errors).toEqual([
      ['Error: event 1', source(1)],
      ['Error: event 2', source(2)],
    ])
  })

  it.each([
    ['without onError', {}],
    [
      'where onError throws',
      {
        onError: (error: unknown) => {
          throw error
        },
      },
    ],
    ['where onError rejects', { onError: (error: unknown) => Promise.reject(error) }],
  ])('that fails %s is reported by the bus', async (_, options) => {
    const { bus, reports } = observedBus()
    const error = new Error('no')
    subscribe(bus, options, () => {
      throw error
    })
    await published(bus, 2)
    expect(reports).toEqual([
      { type: 'callback_error', error },
      { type: 'callback_error', error },
    ])
  })
})

describe('with more than one at a time, handlers', () => {
  it('start in order, up to the limit', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    subscribe(bus, { concurrency: 2 }, slow.handle)
    await published(bus, 4)
    expect(slow.started).toEqual([1, 2])
    await slow.finish(2)
    expect(slow.started).toEqual([1, 2, 3])
    await slow.finish(1)
    expect(slow.started).toEqual([1, 2, 3, 4])
  })

  it('start all where there is no limit', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    subscribe(bus, { concurrency: Infinity }, slow.handle)
    await published(bus, 100)
    expect(slow.started).toHaveLength(100)
  })

  it('leave the position below the lowest that has not finished', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, { concurrency: 2 }, slow.handle)
    await published(bus, 3)
    expect(handle.position).toBe(0)
    await slow.finish(2)
    expect(handle.position).toBe(0)
    await slow.finish(1)
    expect(handle.position).toBe(2)
    await slow.finishAll()
    expect(handle.position).toBe(3)
    bus.publish({ type: 'tick' })
    expect(handle.position).toBe(3)
  })
})

describe('the position of a subscriber', () => {
  it('runs with the bus over events that do not match', () => {
    const bus = busWith(2)
    const handle = subscribe(bus, { type: 'none' }, () => {})
    publish(bus, 3)
    expect(handle.position).toBe(5)
  })

  it('does not count an event that was queued and dropped', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, {}, slow.handle)
    await published(bus, 3)
    void handle.close()
    await slow.finishAll()
    publish(bus, 1)
    expect(handle.position).toBe(1)

    const idle = subscribe(bus, {}, slow.handle)
    await flush()
    publish(bus, 2)
    void idle.close()
    expect(idle.position).toBe(4)
  })
})

describe('a subscriber ends', () => {
  it('with its signal, and leaves nothing', async () => {
    const bus = new EventBus()
    const seen: number[] = []
    const controller = new AbortController()
    const { signal } = controller
    const handle = subscribe(bus, { signal }, ({ id }) => seen.push(id))
    expect(abortListeners(signal)).toBe(1)
    await published(bus)
    publish(bus, 1)
    controller.abort()
    await flush()
    expect(seen).toEqual([1])
    expect(bus.subscriberCount).toBe(0)
    expect(abortListeners(signal)).toBe(0)
    await handle.close()
  })

  it('at once with an aborted signal, for which no slot is needed', async () => {
    const bus = new EventBus({ maxSubscribers: 1 })
    bus.subscribe()
    const seen: number[] = []
    const signal = AbortSignal.abort()
    const handle = subscribe(bus, { signal }, ({ id }) => seen.push(id))
    await published(bus)
    expect(seen).toEqual([])
    expect(abortListeners(signal)).toBe(0)
    await handle.close()
  })

  it('behind the last event of a bus that ends', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const { signal } = new AbortController()
    subscribe(bus, { signal }, slow.handle)
    publish(bus, 3)
    bus.end()
    await flush()
    await slow.finishAll()
    expect(slow.finished).toEqual([1, 2, 3])
    expect(abortListeners(signal)).toBe(0)
    expect(slow.call(3).context.signal.aborted).toBe(true)
  })

  it('with a closed bus: the handle is closed', async () => {
    const bus = new EventBus()
    bus.close()
    await subscribe(bus, {}, () => {}).close()
  })

  it('as `await using` leaves its block', async () => {
    const bus = new EventBus()
    {
      await using _ = subscribe(bus, {}, () => {})
      expect(bus.subscriberCount).toBe(1)
    }
    expect(bus.subscriberCount).toBe(0)
  })

  it('once however often it is closed, and its handlers know by their signal', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, {}, slow.handle)
    await published(bus)
    const { signal } = slow.call(1).context
    expect(signal.aborted).toBe(false)
    const closing = [handle.close(), handle.close()]
    expect(signal.aborted).toBe(true)
    expect(await isSettled(Promise.race(closing))).toBe(false)
    await slow.finish(1)
    await Promise.all(closing)
    await handle.close()
  })
})

it('4096 subscribers are the usual limit, and each close frees a slot', async () => {
  const bus = new EventBus()
  const handles = Array.from({ length: 4096 }, () => subscribe(bus, { type: 'a' }, () => {}))
  expect(() => subscribe(bus, {}, () => {})).toThrow()
  void handles[0]?.close()
  subscribe(bus, {}, () => {})
  await Promise.all(handles.map((handle) => handle.close()))
  expect(bus.subscriberCount).toBe(1)
})
