import { describe, expect, it } from 'vitest'
import {
  BoundedAsyncQueue,
  type BusEvent,
  type BusLike,
  EventBus,
  type Frame,
  type StateResyncRequired,
} from '../../src/index.ts'
import { type Gap, subscribe } from '../../src/router/index.ts'
import { publish } from '../support/bus.ts'
import { EPOCH } from '../support/frames.ts'
import { flush } from '../support/reading.ts'
import { SlowHandler } from '../support/router.ts'

it('a subscriber that comes with a cursor of another epoch is told of the gap, and gets all that is there', async () => {
  const bus = new EventBus({ epoch: 'second', ringSize: 2 })
  publish(bus, 4)
  const gaps: Gap[] = []
  const seen: number[] = []
  const onGap = (gap: Gap) => gaps.push(gap)
  subscribe(bus, { lastEventId: 3, epoch: 'first', onGap }, ({ id }) => seen.push(id))
  await flush()
  expect(gaps).toEqual([{ from: 1, to: 2 }])
  expect(seen).toEqual([3, 4])
  subscribe(bus, { lastEventId: 3, epoch: 'second', onGap }, ({ id }) => seen.push(id))
  await flush()
  expect(gaps).toHaveLength(1)
  expect(seen).toEqual([3, 4, 4])
})

describe('a subscriber on a bus whose backend begins anew', () => {
  /** Says in the middle of a stream that there is a new epoch, whose ids start again. */
  function renewing() {
    const inner = new EventBus({ epoch: EPOCH, maxQueued: 2 })
    const renewed = new EventBus({ epoch: 'renewed', maxQueued: 2 })
    let current = inner
    const bus: BusLike = new Proxy(inner, {
      get(_, name) {
        const value = Reflect.get(current, name, current)
        return typeof value === 'function' ? value.bind(current) : value
      },
    })
    const renew = () => {
      current = renewed
      inner.end()
    }
    return { bus, inner, renewed, renew }
  }

  it('gets the new ids, though they are lower, and is told of the gap', async () => {
    const { bus, inner, renewed, renew } = renewing()
    const seen: [string, number][] = []
    const gaps: Gap[] = []
    const slow = new SlowHandler()
    subscribe(bus, { onGap: (gap) => gaps.push(gap) }, (event, context) => {
      seen.push([event.type, event.id])
      return slow.handle(event, context)
    })
    for (let i = 0; i < 9; i++) inner.publish({ type: 'old' })
    await flush()
    renew()
    for (let i = 0; i < 3; i++) renewed.publish({ type: 'new' })
    await slow.finishAll()
    expect(seen).toEqual([
      ['old', 1],
      ['old', 2],
      ['new', 1],
      ['new', 2],
      ['new', 3],
    ])
    expect(gaps).toEqual([{ from: 1, to: 0 }])
  })

  it('has its position below what runs of the new epoch, also where a call of the old one still runs', async () => {
    const { bus, inner, renewed, renew } = renewing()
    const slow = new SlowHandler()
    const handle = subscribe(bus, { concurrency: 2, onGap: () => {} }, slow.handle)
    publish(inner, 9)
    await flush()
    renew()
    publish(renewed, 3)
    await slow.finish(1)
    expect(slow.started).toEqual([1, 2, 1])
    expect(handle.position).toBe(0)
  })

  it('goes on in the new epoch where that is told in the middle of its stream', async () => {
    /** A subscription whose frames the test gives. */
    class Given extends BoundedAsyncQueue<Frame> {
      epoch = EPOCH
      position = 0
      evicted = false
      override handedOut(frame: Frame): void {
        if (frame.type === 'state_resync_required') this.epoch = (frame as StateResyncRequired).data.epoch
      }
    }
    const given: Given[] = []
    const asked: unknown[] = []
    const bus = {
      epoch: EPOCH,
      lastEventId: 0,
      subscribe({ lastEventId, epoch }: Parameters<BusLike['subscribe']>[0] = {}) {
        asked.push({ lastEventId, epoch })
        const subscription = new Given({ maxSize: 10 })
        given.push(subscription)
        return subscription
      },
    } as unknown as BusLike
    const event = (id: number): BusEvent => ({ id, v: 1, type: 'tick', data: undefined })
    const seen: number[] = []
    const gaps: Gap[] = []
    subscribe(bus, { onGap: (gap) => gaps.push(gap) }, ({ id }) => seen.push(id))
    await flush()
    const [first] = given as [Given]
    for (const id of [7, 8]) first.push(event(id))
    first.forcePush({
      v: 1,
      type: 'state_resync_required',
      data: { reason: 'epoch_reset', lastDeliveredId: 8, earliestAvailableId: 3, epoch: 'renewed' },
    })
    for (const id of [3, 4]) first.push(event(id))
    await flush()
    expect(seen).toEqual([7, 8, 3, 4])
    expect(gaps).toEqual([{ from: 1, to: 2 }])

    first.evicted = true
    first.position = 4
    first.close()
    await flush()
    expect(asked).toEqual([
      { lastEventId: undefined, epoch: undefined },
      { lastEventId: 4, epoch: 'renewed' },
    ])
  })
})
