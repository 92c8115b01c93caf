import { describe, expect, it } from 'vitest'
import { busWith, publish } from '../support/bus.ts'
import { complete, evicted, notationOf, range, resync, warning } from '../support/frames.ts'
import { framesOf, settled, take } from '../support/reading.ts'

type Batches = AsyncIterator<Parameters<typeof notationOf>[0][], unknown>

async function batch(batches: Batches) {
  const result = await settled(batches.next())
  if (result === undefined) return 'idle'
  return result.value.done === true
    ? 'done'
    : (result.value.value as Parameters<typeof notationOf>[0][]).map(notationOf)
}

describe('batches()', () => {
  it('gives of a replay 256 frames each, and then the rest', async () => {
    const bus = busWith(600)
    const batches = bus.subscribe({ lastEventId: 0 }).batches()
    const sizes: unknown[] = []
    for (let i = 0; i < 3; i++) sizes.push((await batch(batches)).length)
    expect(sizes).toEqual([256, 256, 89])
  })

  it('joins resync, replay, replay_complete, live events and warnings', async () => {
    const bus = busWith(5, { ringSize: 2 })
    const batches = bus.subscribe({ lastEventId: 0, maxQueued: 4 }).batches()
    publish(bus, 3)
    expect(await batch(batches)).toEqual([
      resync('ring_evicted', 0, 4),
      4,
      5,
      complete(2, 5),
      6,
      7,
      8,
      warning({ queueSize: 3, maxQueued: 4, lastEventId: 8 }),
    ])
  })

  it('ends behind the terminal frame of an eviction', async () => {
    const bus = busWith(0)
    const batches = bus.subscribe({ maxQueued: 1, warnings: false }).batches()
    publish(bus, 2)
    expect(await batch(batches)).toEqual([
      1,
      evicted({ reason: 'queue_overflow', droppedAfter: 1, queueSize: 1, maxQueued: 1 }),
    ])
    expect(await batch(batches)).toBe('done')
  })

  it('never gives an empty array: it waits, or is done', async () => {
    const bus = busWith(5)
    const nothing = bus.subscribe({ lastEventId: 0, filter: () => false }).batches()
    expect(await batch(nothing)).toEqual([complete(0)])
    const waiting = bus.subscribe().batches()
    const next = waiting.next()
    expect(await settled(next)).toBeUndefined()
    bus.close()
    expect(await next).toEqual({ value: undefined, done: true })
  })

  it('hands an event to a waiting batch within the publish, and does not count it', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1 })
    const next = subscription.batches().next()
    publish(bus, 1)
    expect(subscription.queued).toBe(0)
    expect((await next).value?.map(notationOf)).toEqual([1])
  })

  it('loses and doubles nothing when several events come while it waits', async () => {
    const bus = busWith(0)
    const batches = bus.subscribe().batches()
    const next = batches.next()
    publish(bus, 3)
    const first = ((await next).value ?? []).map(notationOf)
    const rest = first.length < 3 ? await batch(batches) : []
    expect([...first, ...rest]).toEqual([1, 2, 3])
  })

  it('empties the backlog that it took', async () => {
    const bus = busWith(0, { maxQueuedBytes: 100_000 })
    const subscription = bus.subscribe()
    publish(bus, 10)
    await subscription.batches().next()
    expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
  })

  it('of a replay may be mixed with next()', async () => {
    const bus = busWith(400)
    const subscription = bus.subscribe({ lastEventId: 0 })
    expect(await take(subscription, 3)).toEqual([1, 2, 3])
    expect(await batch(subscription.batches())).toEqual(range(4, 259))
    expect(await framesOf(subscription)).toEqual([...range(260, 400), complete(400, 400)])
  })

  it('gives arrays that the reader owns: changing one changes nothing else', async () => {
    const bus = busWith(0)
    const batches = bus.subscribe().batches()
    publish(bus, 2)
    const first = (await batches.next()).value
    publish(bus, 2)
    const second = (await batches.next()).value
    first?.splice(0)
    expect(second?.map(notationOf)).toEqual([3, 4])
  })
})

describe('overlapping reads', () => {
  it('settle in that order', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const order: number[] = []
    const reads = [0, 1, 2].map((n) => subscription.next().then(() => order.push(n)))
    publish(bus, 3)
    await Promise.all(reads)
    expect(order).toEqual([0, 1, 2])
  })

  it('of next() and batches() share the line', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const batches = subscription.batches()
    const reads = [subscription.next(), batches.next(), subscription.next()] as const
    publish(bus, 1)
    expect((await reads[0]).value?.id).toBe(1)
    publish(bus, 1)
    expect((await reads[1]).value?.map((frame) => frame.id)).toEqual([2])
    publish(bus, 1)
    expect((await reads[2]).value?.id).toBe(3)
  })

  it('all settle when the stream ends, however many there are', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const reads = Array.from({ length: 1000 }, () => subscription.next())
    publish(bus, 1)
    bus.close()
    const results = await Promise.all(reads)
    expect(results.filter((result) => result.done !== true)).toHaveLength(1)
    expect(results[0]?.value).toMatchObject({ id: 1 })
  })
})
