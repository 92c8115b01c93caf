import { describe, expect, it, vi } from 'vitest'
import { type EventBus, isControlFrame } from '../../src/index.ts'
import { busWith, observedBus, publish, publishBytes } from '../support/bus.ts'
import { complete, evicted, range, warning } from '../support/frames.ts'
import { framesOf, rawFramesOf, take, takeRaw } from '../support/reading.ts'

/** A subscriber with a cap of 8, its bus, and how often it was warned so far. */
function warned(maxQueued = 8) {
  const { bus, reports } = observedBus()
  const subscription = bus.subscribe({ maxQueued })
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
  it.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 3],
    [5, 4],
    [8, 6],
    [16, 12],
    [100, 75],
    [256, 192],
  ])('with maxQueued %d comes at a backlog of %d', async (maxQueued, at) => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued })
    publish(bus, at)
    expect(await framesOf(subscription)).toEqual([
      ...range(1, at),
      warning({ queueSize: at, maxQueued, lastEventId: at }),
    ])
    const below = bus.subscribe({ maxQueued })
    publish(bus, at - 1)
    expect(await framesOf(below)).toEqual(range(at + 1, 2 * at - 1))
  })

  it('stands right behind the event that raised it', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 4 })
    publish(bus, 4)
    expect(await framesOf(subscription)).toEqual([
      1,
      2,
      3,
      warning({ queueSize: 3, maxQueued: 4, lastEventId: 3 }),
      4,
    ])
  })

  it('takes no place in the queue: the 9th live event evicts, not the 8th', () => {
    const { subscription, fillTo, bus } = warned()
    fillTo(8)
    expect([subscription.closed, subscription.queued]).toEqual([false, 8])
    publish(bus, 1)
    expect(subscription.closed).toBe(true)
  })

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
  it('does not come while the backlog moves between the thresholds', async () => {
    const { drainTo, fillTo, warnings } = warned()
    fillTo(6)
    for (let round = 0; round < 20; round++) {
      await drainTo(5)
      fillTo(7)
    }
    expect(warnings()).toBe(1)
  })

  it('does not come after a drain to just above 37.5 %', async () => {
    const { drainTo, fillTo, warnings } = warned()
    fillTo(6)
    await drainTo(4)
    fillTo(6)
    expect(warnings()).toBe(1)
  })

  it('comes after a drain to 37.5 %', async () => {
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

  it.each([
    [1, 0],
    [2, 0],
    [3, 1],
    [4, 1],
    [5, 1],
    [16, 6],
    [256, 96],
  ])('with maxQueued %d comes after a drain to %d, not to one more', async (maxQueued, rearm) => {
    const high = warned(maxQueued)
    high.fillTo(maxQueued)
    await high.drainTo(rearm + 1)
    high.fillTo(maxQueued)
    expect(high.warnings()).toBe(1)
    await high.drainTo(rearm)
    high.fillTo(maxQueued)
    expect(high.warnings()).toBe(2)
  })
})

describe('a warning by bytes', () => {
  const measured = (options: { maxQueuedBytes: number; maxQueued?: number }) => {
    const { bus, reports } = observedBus({ ...options })
    return {
      bus,
      subscription: bus.subscribe(),
      warnings: () => reports.filter((report) => report.type === 'slow_client_warning').length,
    }
  }

  it('comes at 75 % of the byte cap', async () => {
    const { bus, subscription } = measured({ maxQueuedBytes: 800 })
    publishBytes(bus, 300)
    publishBytes(bus, 299)
    publishBytes(bus, 60)
    expect(await framesOf(subscription)).toEqual([
      1,
      2,
      3,
      warning({ queueSize: 3, maxQueued: 256, lastEventId: 3, queuedBytes: 659, maxQueuedBytes: 800 }),
    ])
    const exact = measured({ maxQueuedBytes: 800 })
    publishBytes(exact.bus, 600)
    expect(exact.warnings()).toBe(1)
  })

  it('re-arms at 37.5 % of the byte cap', async () => {
    const { bus, subscription, warnings } = measured({ maxQueuedBytes: 800 })
    publishBytes(bus, 300)
    publishBytes(bus, 301)
    await take(subscription, 1)
    publishBytes(bus, 300)
    expect(warnings()).toBe(1)
    await take(subscription, 2)
    expect(subscription.queuedBytes).toBe(300)
    publishBytes(bus, 300)
    expect(warnings()).toBe(2)
  })

  it('is one and the same excursion with a warning by count', async () => {
    const { bus, subscription, warnings } = measured({ maxQueuedBytes: 800, maxQueued: 4 })
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
    const { bus, subscription } = measured({ maxQueuedBytes: 100 })
    publishBytes(bus, 500)
    expect(await framesOf(subscription)).toEqual([
      1,
      warning({ queueSize: 1, maxQueued: 256, lastEventId: 1, queuedBytes: 500, maxQueuedBytes: 100 }),
    ])
  })
})

describe('warnings: false', () => {
  it('suppresses the warning and nothing else', async () => {
    const bus = busWith(2)
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1, warnings: false })
    publish(bus, 2)
    expect((await framesOf(subscription)).slice(0, 5)).toEqual([
      1,
      2,
      complete(2, 2),
      3,
      evicted({ reason: 'queue_overflow', droppedAfter: 3, queueSize: 1, maxQueued: 1 }),
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
