import { describe, expect, it, vi } from 'vitest'
import { EventBus, type EventBusOptions, type Frame, type Subscription } from '../../src/index.ts'
import { createEventStore, isUnknown, numbers, replay, storeNotes } from '../support/mcp.ts'

/** A bus that hands out subscriptions of the test's making. */
class ScriptedBus extends EventBus {
  /** Called with each subscription; what it returns is handed out. */
  wrap = (subscription: Subscription<Frame>): Subscription<Frame> => subscription

  override subscribe(options?: Parameters<EventBus['subscribe']>[0]): Subscription<Frame> {
    return this.wrap(super.subscribe(options))
  }
}

const RESYNC: Frame = {
  v: 1,
  type: 'state_resync_required',
  data: { reason: 'epoch_reset', earliestAvailableId: 1, epoch: 'other' },
}

describe('a bus that has nothing ready when it is asked', () => {
  const pagingBus = (options: EventBusOptions) => {
    const bus = new ScriptedBus(options)
    bus.wrap = (subscription) => Object.assign(subscription, { tryNext: () => undefined })
    return bus
  }

  it('is read to the end of its replay, whoever stored that', async () => {
    const bus = pagingBus({})
    const [here, there] = [
      createEventStore({ bus, namespace: 'n' }),
      createEventStore({ bus, namespace: 'n' }),
    ]
    const [id = ''] = await storeNotes(there, 's', ...numbers(0, 20))
    expect((await replay(here, id)).notes).toEqual(numbers(1, 20))
  })

  it('is read on where it evicted the reader', async () => {
    const store = createEventStore({ bus: pagingBus({ maxQueued: 4 }), namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 0, 1)
    const { notes } = await replay(store, id, (n) => n === 1 && storeNotes(store, 's', ...numbers(2, 20)))
    expect(notes).toEqual(numbers(1, 20))
  })
})

describe('a bus that tells of its losses in-band', () => {
  it('makes an id unknown that it would have to resync', async () => {
    const bus = new ScriptedBus()
    const store = createEventStore({ bus, namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    bus.wrap = (subscription) => {
      let frames = [RESYNC]
      subscription.tryNext = () => undefined
      subscription.next = async () => {
        const [value] = frames
        frames = []
        return value ? { value, done: false } : { value: undefined, done: true }
      }
      return subscription
    }
    expect(await isUnknown(store, id)).toBe(true)
  })

  it('ends a replay that it would have to resync, with an error', async () => {
    const bus = new ScriptedBus()
    const store = createEventStore({ bus, namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2, 3)
    bus.wrap = (subscription) => {
      const tryNext = subscription.tryNext.bind(subscription)
      let read = 0
      subscription.tryNext = () => (++read === 3 ? RESYNC : tryNext())
      return subscription
    }
    const sent: unknown[] = []
    await expect(replay(store, id, (n) => sent.push(n))).rejects.toMatchObject({ code: 'replay_gap' })
    expect(sent).toEqual([1])
    expect(bus.subscriberCount).toBe(0)
  })

  it('makes a replay fail that ends before its end', async () => {
    const bus = new EventBus()
    const store = createEventStore({ bus, namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2, 3)
    const replayed = replay(store, id, () => bus.close({ drain: false }))
    await expect(replayed).rejects.toMatchObject({ code: 'replay_gap' })
  })

  it('is waited for no longer than 30 s, and holds no subscriber then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const bus = new ScriptedBus()
      const store = createEventStore({ bus, namespace: 'n' })
      const [id = ''] = await storeNotes(store, 's', 1, 2)
      // The backend is away: the subscription is there, and nothing comes.
      bus.wrap = (subscription) => {
        void subscription.return()
        return EventBus.prototype.subscribe.call(bus)
      }
      const asked = store.getStreamIdForEventId(id)
      const replayed = replay(store, id)
      const refused = Promise.all([
        expect(asked).rejects.toMatchObject({ code: 'backend_unavailable' }),
        expect(replayed).rejects.toMatchObject({ code: 'backend_unavailable' }),
      ])
      await vi.advanceTimersByTimeAsync(29_999)
      expect(bus.subscriberCount).toBe(2)
      await vi.advanceTimersByTimeAsync(1)
      await refused
      expect(bus.subscriberCount).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('may refuse a subscriber, and the question rejects with that', async () => {
    const bus = new EventBus({ maxSubscribers: 1 })
    const store = createEventStore({ bus, namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 1)
    const other = bus.subscribe()
    await expect(store.getStreamIdForEventId(id)).rejects.toMatchObject({ code: 'subscriber_limit_exceeded' })
    await expect(replay(store, id)).rejects.toMatchObject({ code: 'subscriber_limit_exceeded' })
    await other.return()
    expect(await store.getStreamIdForEventId(id)).toBe('s')
  })
})
