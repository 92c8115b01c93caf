import { describe, expect, it, vi } from 'vitest'
import { BoundedAsyncQueue, type EventBus, type Subscription } from '../../src/index.ts'
import { busWith } from '../support/bus.ts'
import { range } from '../support/frames.ts'
import { collect, Watched } from '../support/garbage.ts'
import { framesOf } from '../support/reading.ts'

// Each look at what is alive is three full collections, which take seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

/** Publishes `count` watched payloads and keeps none. */
function publishWatched(bus: EventBus, watched: Watched, count: number, bytes?: number): void {
  for (let i = 0; i < count; i++) bus.publish({ type: 'watched', data: watched.payload(bytes) })
}

/** The chunks of a log may hold a few events more than were promised. */
const chunkOf = (ringSize: number) => Math.max(1, Math.min(256, Math.ceil(ringSize / 16)))

describe('payloads out of the ring are collectable', () => {
  it.each([0, 1, 4, 100])('with a ring of %d', async (ringSize) => {
    const bus = busWith(0, { ringSize })
    const watched = new Watched()
    publishWatched(bus, watched, 500)
    expect(await watched.alive()).toEqual(range(500 - ringSize, 499))
    expect(bus.lastEventId).toBe(500)
  })

  it('with a byte cap: what the bus can reach never exceeds maxRingBytes', async () => {
    const bus = busWith(0, { maxRingBytes: 10_000 })
    const watched = new Watched()
    publishWatched(bus, watched, 300, 1000)
    const { ringEvents } = bus.stats()
    expect(ringEvents).toBe(9)
    expect(await watched.alive()).toEqual(range(300 - ringEvents, 299))
    publishWatched(bus, watched, 1, 50_000)
    expect(await watched.alive()).toEqual([])
    expect(bus.lastEventId).toBe(301)
  })

  it('after sizes that vary, too', async () => {
    const bus = busWith(0, { maxRingBytes: 5000, ringSize: 1000 })
    const watched = new Watched()
    for (let i = 0; i < 400; i++) publishWatched(bus, watched, 1, (i * 7919) % 1500)
    const { ringEvents } = bus.stats()
    expect(await watched.alive()).toEqual(range(400 - ringEvents, 399))
    expect(bus.lastEventId).toBe(400)
  })

  it('once close() made everything over', async () => {
    const bus = busWith(0)
    const watched = new Watched()
    publishWatched(bus, watched, 50)
    bus.close()
    expect(await watched.alive()).toEqual([])
    expect(bus.closed).toBe(true)
  })
})

describe('what a subscriber holds', () => {
  it('is nothing of what it has read', async () => {
    const bus = busWith(0, { ringSize: 0 })
    const watched = new Watched()
    const subscription = bus.subscribe()
    publishWatched(bus, watched, 100)
    await framesOf(subscription)
    const alive = await watched.alive()
    expect(alive.length).toBeLessThanOrEqual(1)
    expect(subscription.lastDeliveredId).toBe(100)
  })

  it('is nothing once it is over, however it ended', async () => {
    const bus = busWith(0, { ringSize: 0 })
    const controller = new AbortController()
    const ends: ((subscription: Subscription) => unknown)[] = [
      (subscription) => subscription.return(),
      (subscription) => subscription.throw(new Error('over')).catch(() => {}),
      () => controller.abort(),
    ]
    for (const end of ends) {
      const watched = new Watched()
      const subscription = bus.subscribe({ signal: controller.signal })
      publishWatched(bus, watched, 20)
      expect(await watched.alive()).toHaveLength(20)
      await end(subscription)
      expect(await watched.alive()).toEqual([])
      expect(subscription.closed).toBe(true)
    }
  })

  it('is its cap at the most, when nobody reads: evicted once, then nothing more', async () => {
    const bus = busWith(0, { ringSize: 0 })
    const watched = new Watched()
    const subscription = bus.subscribe({ maxQueued: 10 })
    publishWatched(bus, watched, 5000)
    expect(await watched.alive()).toEqual(range(0, 9))
    expect([subscription.queued, bus.stats().evicted]).toEqual([10, 1])
  })

  it.each([16, 100, 1000])(
    'is, for a stalled replay on a ring of %d, that ring and a chunk at the most',
    async (ringSize) => {
      const bus = busWith(0, { ringSize })
      const watched = new Watched()
      publishWatched(bus, watched, ringSize)
      const stalled = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
      publishWatched(bus, watched, ringSize * 5)
      const alive = await watched.alive()
      const retained = range(ringSize * 5, ringSize * 6 - 1)
      const pinned = alive.filter((index) => !retained.includes(index))
      expect(pinned.length).toBeGreaterThanOrEqual(ringSize)
      expect(pinned.length).toBeLessThanOrEqual(ringSize + chunkOf(ringSize) + 1)
      expect(stalled.closed).toBe(true)
      await stalled.return()
      expect(await watched.alive()).toEqual(retained)
      expect(bus.lastEventId).toBe(ringSize * 6)
    },
  )

  it('is, for a stalled replay of a ring that is capped by bytes, within that cap as well', async () => {
    const maxRingBytes = 16_000
    const bus = busWith(0, { maxRingBytes })
    const watched = new Watched()
    publishWatched(bus, watched, 2, 100)
    const stalled = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
    publishWatched(bus, watched, 100, 1000)
    const { ringEvents } = bus.stats()
    const pinned = (await watched.alive()).filter((index) => index < 102 - ringEvents)
    expect(pinned.slice(0, 2)).toEqual([0, 1])
    expect(pinned.length * 1000).toBeLessThan(maxRingBytes)
    expect(stalled.closed).toBe(true)
  })

  it('of a replay is nothing once it was read to its end', async () => {
    const bus = busWith(0, { ringSize: 100 })
    const watched = new Watched()
    publishWatched(bus, watched, 100)
    const slow = bus.subscribe({ lastEventId: 0 })
    publishWatched(bus, watched, 100)
    await framesOf(slow)
    publishWatched(bus, watched, 1)
    await framesOf(slow)
    expect(await watched.alive()).toEqual(range(101, 200))
    expect(slow.lastDeliveredId).toBe(201)
  })

  it('a subscription that its owner forgot, and the bus that was forgotten with it, go away', async () => {
    const forgotten = (() => {
      const bus = busWith(10)
      return [new WeakRef(bus), new WeakRef(bus.subscribe({ lastEventId: 0 }))]
    })()
    await collect()
    expect(forgotten.map((reference) => reference.deref())).toEqual([undefined, undefined])
  })

  it('an ended subscription with a signal that lives on goes away', async () => {
    const controller = new AbortController()
    const bus = busWith(10)
    const forgotten = await (async () => {
      const references: WeakRef<object>[] = []
      for (let i = 0; i < 10; i++) {
        const subscription = bus.subscribe({ signal: controller.signal })
        references.push(new WeakRef(subscription))
        await subscription.return()
      }
      return references
    })()
    await collect()
    expect(forgotten.filter((reference) => reference.deref() !== undefined)).toEqual([])
    expect(controller.signal.aborted).toBe(false)
  })
})

describe('a queue', () => {
  it('holds nothing of what was read or dropped', async () => {
    const queue = new BoundedAsyncQueue<object>({ maxSize: 100 })
    const watched = new Watched()
    const fill = () => {
      for (let i = 0; i < 20; i++) queue.push(watched.payload())
      for (let i = 0; i < 20; i++) queue.forcePush(watched.payload())
    }
    fill()
    for (let i = 0; i < 40; i++) await queue.next()
    expect((await watched.alive()).length).toBeLessThanOrEqual(1)
    fill()
    queue.close({ drain: false })
    expect((await watched.alive()).length).toBeLessThanOrEqual(1)
    expect(queue.size).toBe(0)
  })
})

describe('many rounds with one signal', () => {
  it('grow neither the heap nor the listeners', async () => {
    const bus = busWith(0, { ringSize: 10 })
    const { signal } = new AbortController()
    const subscription = bus.subscribe({ signal })
    const round = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const next = subscription.next()
        bus.publish({ type: 'tick', data: i })
        await next
      }
      await collect()
      return process.memoryUsage().heapUsed
    }
    const before = await round(5000)
    const after = await round(30_000)
    expect(after - before).toBeLessThan(1_048_576)
  })
})
