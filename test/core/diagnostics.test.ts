import { describe, expect, it } from 'vitest'
import { type Diagnostic, EventBus } from '../../src/index.ts'
import { abortListeners, busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE } from '../support/frames.ts'
import { framesOf, rawFramesOf, take } from '../support/reading.ts'

describe('diagnostics', () => {
  it('report a warning, an eviction and a resync with the data of the frame', async () => {
    const { bus, reports } = observedBus({ ringSize: 1 })
    publish(bus, 3)
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
    publish(bus, 2)
    const frames = (await rawFramesOf(subscription)).filter((frame) =>
      ['slow_client_warning', 'client_evicted', 'state_resync_required'].includes(frame.type),
    )
    expect(frames).toHaveLength(3)
    const byType = (a: { type: string }, b: { type: string }) => a.type.localeCompare(b.type)
    expect([...reports].sort(byType)).toEqual(
      frames.map((frame) => ({ type: frame.type, data: frame.data })).sort(byType),
    )
  })

  it('report a refused event, a refused subscriber and a callback that throws', () => {
    const { bus, reports } = observedBus({ maxSubscribers: 1, maxQueuedBytes: 1000 })
    const error = new Error('filter')
    bus.subscribe({
      filter: () => {
        throw error
      },
    })
    expect(() => bus.subscribe()).toThrow()
    bus.publish({ type: 'circular', data: 1n })
    bus.publish({ type: 'fine' })
    expect(reports).toEqual([
      { type: 'subscriber_rejected', limit: 1 },
      { type: 'event_rejected', reason: expect.any(String), eventType: 'circular' },
      { type: 'callback_error', error },
    ])
  })

  it('come for each subscriber', () => {
    const { bus, reports } = observedBus({ maxQueued: 1 })
    for (let i = 0; i < 3; i++) bus.subscribe()
    publish(bus, 2)
    const count = (type: Diagnostic['type']) => reports.filter((report) => report.type === type).length
    expect([count('slow_client_warning'), count('client_evicted')]).toEqual([3, 3])
  })

  it('are not needed: nothing throws without onDiagnostic', () => {
    const bus = busWith(0, { maxQueued: 1 })
    bus.subscribe()
    expect(() => publish(bus, 3)).not.toThrow()
    expect(bus.publish({ type: '' })).toBeUndefined()
  })

  it('a callback that throws is swallowed, and everything else goes on', async () => {
    const bus: EventBus = new EventBus({
      maxQueued: 1,
      maxSubscribers: 3,
      ringSize: 1,
      onDiagnostic: () => {
        throw new Error('broken callback')
      },
    })
    const slow = bus.subscribe()
    const other = bus.subscribe({ maxQueued: 100 })
    bus.subscribe({
      maxQueued: 100,
      filter: () => {
        throw new Error('broken filter')
      },
    })
    expect(publish(bus, 3)).toEqual([1, 2, 3])
    expect(bus.publish({ type: '' })).toBeUndefined()
    expect(await take(other, 3)).toEqual([1, 2, 3])
    expect((await framesOf(slow)).at(-2)).toMatchObject({ type: 'client_evicted' })
    expect((await framesOf(bus.subscribe({ lastEventId: 0 })))[0]).toMatchObject({ reason: 'ring_evicted' })
  })

  it('a callback may use the bus: subscribe, publish, close', async () => {
    const bus: EventBus = new EventBus({
      maxQueued: 1,
      onDiagnostic: (report) => {
        if (report.type !== 'client_evicted') return
        bus.subscribe({ maxQueued: 10 })
        bus.publish({ type: 'evicted' })
        bus.close()
      },
    })
    bus.subscribe()
    expect(publish(bus, 2)).toEqual([1, 2])
    expect([bus.lastEventId, bus.closed, bus.subscriberCount]).toEqual([3, true, 0])
  })
})

describe('a callback that acts while subscribe() is under way', () => {
  const subscribing = (act: (bus: EventBus, controller: AbortController) => void) => {
    const controller = new AbortController()
    const bus: EventBus = new EventBus({
      ringSize: 1,
      onDiagnostic: (report) => {
        if (report.type === 'state_resync_required') act(bus, controller)
      },
    })
    publish(bus, 3)
    return { bus, controller, subscription: bus.subscribe({ lastEventId: 0, signal: controller.signal }) }
  }

  it('close() leaves no subscription that never ends', async () => {
    const { bus, controller, subscription } = subscribing((bus) => bus.close())
    expect((await framesOf(subscription)).at(-1)).toBe(DONE)
    expect([bus.subscriberCount, abortListeners(controller.signal)]).toEqual([0, 0])
  })

  it('end() leaves one that is replayed, and ends', async () => {
    const { bus, controller, subscription } = subscribing((bus) => bus.end())
    expect((await framesOf(subscription)).slice(1)).toEqual([3, complete(1, 3), DONE])
    expect([bus.subscriberCount, abortListeners(controller.signal)]).toEqual([0, 0])
  })

  it('abort leaves an ended one', async () => {
    const { bus, controller, subscription } = subscribing((_bus, controller) => controller.abort())
    expect(await framesOf(subscription)).toEqual([DONE])
    expect([bus.subscriberCount, abortListeners(controller.signal)]).toEqual([0, 0])
    expect(subscription.closed).toBe(true)
  })
})

describe('stats()', () => {
  it('counts the events of this bus, wherever its ids began', () => {
    const bus = busWith(3, { startAfterId: 10 })
    expect(bus.stats()).toMatchObject({ published: 3, lastEventId: 13, earliestAvailableId: 11 })
  })

  it('shows of each subscriber its own bound or that of the bus, and no bytes where none are counted', () => {
    const bus = busWith(0, { maxQueued: 2 })
    bus.subscribe()
    bus.subscribe({ maxQueued: 3 })
    publish(bus, 1)
    const each = { queued: 1, queuedBytes: 0, lastDeliveredId: 0, replaying: false }
    expect(bus.stats().subscribers).toEqual([
      { ...each, maxQueued: 2 },
      { ...each, maxQueued: 3 },
    ])
  })

  it('shows as replaying who has not read the replay to its end', async () => {
    const bus = busWith(2)
    const subscription = bus.subscribe({ lastEventId: 0 })
    const replaying = () => bus.stats().subscribers[0]?.replaying
    expect(replaying()).toBe(true)
    await take(subscription, 1)
    expect(replaying()).toBe(true)
    await take(subscription, 2)
    expect(replaying()).toBe(false)
  })

  it('has just these keys', () => {
    const bus = busWith(0)
    bus.subscribe()
    const { subscribers, ...rest } = bus.stats()
    expect(Object.keys(rest).sort()).toEqual([
      'earliestAvailableId',
      'evicted',
      'lastEventId',
      'published',
      'rejected',
      'resyncs',
      'ringBytes',
      'ringEvents',
      'warned',
    ])
    expect(Object.keys(subscribers[0] ?? {}).sort()).toEqual([
      'lastDeliveredId',
      'maxQueued',
      'queued',
      'queuedBytes',
      'replaying',
    ])
  })
})
