import { describe, expect, it, vi } from 'vitest'
import { type EventBus, isControlFrame } from '../../src/index.ts'
import { type BusOptions, busWith, observedBus, publish, publishBytes } from '../support/bus.ts'
import { warning } from '../support/frames.ts'
import { framesOf, rawFramesOf, take, takeRaw } from '../support/reading.ts'

/** A subscriber with a cap, its bus, and how often it was reported as slow so far. */
function warned(options: BusOptions = { maxQueued: 8 }) {
  const { bus, reports } = observedBus(options)
  const subscription = bus.subscribe()
  return {
    bus,
    subscription,
    warnings: () => reports.filter((report) => report.type === 'slow_client_warning').length,
    /** Reads until that many live events are left. */
    drainTo: async (left: number) => {
      while (subscription.queued > left) await takeRaw(subscription, 1)
    },
    fillTo: (backlog: number) => publish(bus, backlog - subscription.queued),
  }
}

describe('the first warning', () => {
  it('does not come in the same publish as the eviction', async () => {
    for (const maxQueued of [1, 2, 3]) {
      const { bus, reports } = observedBus()
      const subscription = bus.subscribe({ maxQueued })
      publish(bus, maxQueued)
      expect(reports.map((report) => report.type)).toEqual(['slow_client_warning'])
      expect(subscription.closed).toBe(false)
      publish(bus, 1)
      expect(reports.map((report) => report.type)).toEqual(['slow_client_warning', 'client_evicted'])
    }
  })

  it('is a control frame with finite figures', async () => {
    const { subscription, fillTo } = warned()
    fillTo(6)
    const [frame] = (await rawFramesOf(subscription)).filter(isControlFrame)
    expect(frame).toStrictEqual({
      v: 1,
      type: 'slow_client_warning',
      data: { queueSize: 6, maxQueued: 8, lastEventId: 6 },
    })
  })

  it('names the event it stands behind when further ones were published inside the fan-out', async () => {
    const bus: EventBus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1 })
    bus.subscribe({
      filter: (event) => {
        if (event.id === 1) bus.publish({ type: 'nested' })
        return false
      },
    })
    publish(bus, 1)
    expect((await framesOf(subscription)).slice(0, 2)).toEqual([
      1,
      warning({ queueSize: 1, maxQueued: 1, lastEventId: 1 }),
    ])
  })
})

describe('a second warning', () => {
  it('comes at 75 % again, not before', async () => {
    const { drainTo, fillTo, warnings } = warned()
    fillTo(6)
    await drainTo(3)
    fillTo(5)
    expect(warnings()).toBe(1)
    fillTo(6)
    expect(warnings()).toBe(2)
  })

  it('comes once per excursion, however many there are', async () => {
    const { drainTo, fillTo, warnings } = warned()
    for (let excursion = 1; excursion <= 10; excursion++) {
      fillTo(8)
      expect(warnings()).toBe(excursion)
      await drainTo(0)
    }
  })

  it('comes after a drain by batches too', async () => {
    const { subscription, fillTo, warnings } = warned()
    const batches = subscription.batches()
    fillTo(6)
    await batches.next()
    expect(subscription.queued).toBe(0)
    fillTo(6)
    expect(warnings()).toBe(2)
  })
})

describe('a warning by bytes', () => {
  it('comes at exactly 75 % of the byte cap', () => {
    const { bus, warnings } = warned({ maxQueuedBytes: 800 })
    publishBytes(bus, 600)
    expect(warnings()).toBe(1)
  })

  it('is one and the same excursion with a warning by count', async () => {
    const { bus, subscription, warnings } = warned({ maxQueuedBytes: 800, maxQueued: 4 })
    for (let i = 0; i < 3; i++) publishBytes(bus, 60)
    expect(warnings()).toBe(1)
    publishBytes(bus, 600)
    expect(warnings()).toBe(1)
    await take(subscription, 4)
    expect([subscription.queued, subscription.queuedBytes]).toEqual([1, 600])
    publishBytes(bus, 60)
    publishBytes(bus, 60)
    expect(warnings()).toBe(1)
  })

  it('comes for a single event larger than the cap, which fits an empty queue', async () => {
    const { bus, subscription } = warned({ maxQueuedBytes: 100 })
    publishBytes(bus, 500)
    expect(await framesOf(subscription)).toEqual([
      1,
      warning({ queueSize: 1, maxQueued: 256, lastEventId: 1, queuedBytes: 500, maxQueuedBytes: 100 }),
    ])
  })
})

describe('the console', () => {
  it('stays silent, whatever happens', async () => {
    const methods = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const
    const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => {}))
    try {
      const bus = busWith(5, {
        ringSize: 2,
        onDiagnostic: () => {
          throw new Error('broken callback')
        },
      })
      const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
      bus.subscribe({
        filter: () => {
          throw new Error('broken filter')
        },
      })
      publish(bus, 3)
      bus.publish({ type: '' })
      await framesOf(subscription)
      bus.close()
      for (const spy of spies) expect(spy).not.toHaveBeenCalled()
    } finally {
      for (const spy of spies) spy.mockRestore()
    }
  })
})
