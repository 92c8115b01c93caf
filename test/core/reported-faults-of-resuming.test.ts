/**
 * Faults that operators of such systems reported in public, retold as they happened to them; each title names the
 * report. The general rule behind each is tested beside its neighbours in the other files.
 */

import { describe, expect, it } from 'vitest'
import { abortListeners, busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE, range, resync } from '../support/frames.ts'
import { framesOf, settled, take } from '../support/reading.ts'

describe('cursors and replay', () => {
  describe('a stale cursor of a dead process resumed silently (QwenLM/qwen-code #7457)', () => {
    it('names another epoch while the new bus is past it: reset first, not just the tail', async () => {
      const before = busWith(50, { epoch: 'a' })
      const after = busWith(60, { epoch: 'b' })
      const resumed = after.subscribe({ lastEventId: before.lastEventId, epoch: before.epoch })
      expect(await framesOf(resumed)).toEqual([
        resync('epoch_reset', 50, 1, { epoch: 'b', detail: 'epoch_mismatch' }),
        ...range(1, 60),
        complete(60, 60),
      ])
    })

    it('is above the head of the new bus: reset, and live ids below it arrive', async () => {
      const after = busWith(10)
      const resumed = after.subscribe({ lastEventId: 50 })
      expect((await framesOf(resumed))[0]).toEqual(resync('epoch_reset', 50, 1))
      publish(after, 1)
      expect(await framesOf(resumed)).toEqual([11])
    })

    it('is exactly the head, without an epoch: caught up', async () => {
      expect(await framesOf(busWith(50).subscribe({ lastEventId: 50 }))).toEqual([complete(0)])
    })
  })

  describe('a cursor older than the ring lost events without a sign (nexu-io/open-design #5411)', () => {
    it.each([
      [7, false],
      [6, true],
      [5, true],
      [0, true],
    ])('cursor %d on 8..12: told %j, once, before any event', async (cursor, told) => {
      const frames = await framesOf(busWith(12, { ringSize: 5 }).subscribe({ lastEventId: cursor }))
      const announcement = told ? [resync('ring_evicted', cursor, 8)] : []
      expect(frames).toEqual([...announcement, ...range(8, 12), complete(5, 12)])
    })

    it('cursor 12 is caught up, 13 is ahead of the head', async () => {
      const bus = busWith(12, { ringSize: 5 })
      expect(await framesOf(bus.subscribe({ lastEventId: 12 }))).toEqual([complete(0)])
      expect((await framesOf(bus.subscribe({ lastEventId: 13 })))[0]).toEqual(resync('epoch_reset', 13, 8))
    })
  })

  it('an empty ring read as complete (QwenLM/qwen-code #12015)', async () => {
    const none = busWith(3, { ringSize: 0 })
    expect(await framesOf(none.subscribe({ lastEventId: 1 }))).toEqual([
      resync('ring_evicted', 1, 4),
      complete(0),
    ])
    expect(await framesOf(none.subscribe({ lastEventId: 3 }))).toEqual([complete(0)])
    const emptied = busWith(2, { maxRingBytes: 500 })
    emptied.publish({ type: 'huge', data: 'x'.repeat(1000) })
    expect(await framesOf(emptied.subscribe({ lastEventId: 2 }))).toEqual([
      resync('ring_evicted', 2, 4),
      complete(0),
    ])
  })

  it('events between history and live were lost (upstash/realtime #23)', async () => {
    const bus = busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0 })
    publish(bus, 2)
    expect(await framesOf(subscription)).toEqual([1, 2, 3, complete(3, 3), 4, 5])
  })

  it('a client that came back was evicted by the next event (QwenLM/qwen-code #3889)', async () => {
    const bus = busWith(50, { ringSize: 100 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 4 })
    publish(bus, 4)
    await take(subscription, 10)
    expect([subscription.closed, subscription.queued]).toEqual([false, 4])
    publish(bus, 1)
    const frames = await framesOf(subscription)
    expect(frames.filter((frame) => typeof frame === 'number')).toEqual(range(11, 54))
    expect(frames.at(-2)).toMatchObject({ type: 'client_evicted', droppedAfter: 54 })
  })

  it('a replay burst filled the memory at once (QwenLM/qwen-code #7621)', async () => {
    const bus = busWith(0)
    for (let i = 0; i < 1000; i++) bus.publish({ type: 'chunk', data: 'x'.repeat(10_240) })
    let touched = 0
    const subscription = bus.subscribe({
      lastEventId: 0,
      filter: () => {
        touched++
        return true
      },
    })
    expect([touched, subscription.queued]).toEqual([0, 0])
    for (const read of range(1, 10)) {
      await subscription.next()
      expect(touched).toBe(read)
    }
  })

  it('a refused event burned an id (platformatic/mcp #164, QwenLM/qwen-code #7622)', async () => {
    const circular: { self?: unknown } = {}
    circular.self = circular
    const throwing = {
      toJSON() {
        throw new Error('toJSON')
      },
    }
    const getter = {
      get x() {
        throw new Error('getter')
      },
    }
    const { bus, reports } = observedBus({ maxRingBytes: 10_000 })
    const subscription = bus.subscribe()
    publish(bus, 1)
    for (const data of [{ a: 1n }, circular, throwing, getter]) {
      expect(bus.publish({ type: 'bad', data })).toBeUndefined()
    }
    expect(publish(bus, 1)).toEqual([2])
    expect([bus.stats().ringEvents, subscription.queued, reports.length]).toEqual([2, 2, 4])
  })

  it('a ring bounded by count alone pinned its payloads (NousResearch/hermes-agent #106139)', async () => {
    const bus = busWith(0, { ringSize: 1000, maxRingBytes: 1_048_576 })
    const live = bus.subscribe()
    for (let i = 0; i < 100; i++) {
      bus.publish({ type: 'tool', data: 'x'.repeat(65_536) })
      expect(bus.stats().ringBytes).toBeLessThanOrEqual(1_048_576)
      expect(bus.stats().ringEvents).toBeLessThanOrEqual(16)
    }
    bus.publish({ type: 'tool', data: 'x'.repeat(2_097_152) })
    expect(await take(live, 101)).toEqual(range(1, 101))
    expect(await framesOf(bus.subscribe({ lastEventId: 100 }))).toEqual([
      resync('ring_evicted', 100, 102),
      complete(0),
    ])
  })
})

describe('iterators and leaks', () => {
  it('a long-lived signal gathered abort listeners (nodejs/node #51010, QwenLM/qwen-code #4423)', async () => {
    const { signal } = new AbortController()
    for (let i = 0; i < 50; i++) {
      const bus = busWith(0)
      bus.subscribe({ signal, maxQueued: 1 })
      const [broken, returned] = [bus.subscribe({ signal }), bus.subscribe({ signal })]
      bus.subscribe({ signal })
      publish(bus, 2)
      for await (const _frame of broken) break
      await returned.return()
      bus.close()
      expect([abortListeners(signal), bus.subscriberCount]).toEqual([0, 0])
    }
  })

  it('an aborted stream kept emitting its backlog (lvlup-sw/exarchos #1178)', async () => {
    const bus = busWith(0)
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal })
    publish(bus, 3)
    controller.abort()
    expect(await settled(subscription.next())).toEqual({ value: { value: undefined, done: true } })
    const late = bus.subscribe({ signal: controller.signal })
    expect([await late.next(), bus.subscriberCount]).toEqual([{ value: undefined, done: true }, 0])
  })

  it('a subscription that nobody iterated leaked (davidyaha/graphql-redis-subscriptions #197)', async () => {
    const bus = busWith(0)
    const idle = bus.subscribe({ maxQueued: 3 })
    publish(bus, 3)
    expect(bus.subscriberCount).toBe(1)
    publish(bus, 7)
    expect(bus.subscriberCount).toBe(0)
    await idle.return()
    const unused = bus.subscribe()
    await unused.return()
    expect(bus.subscriberCount).toBe(0)
  })

  it('what was published before the first next() was lost (apollographql/graphql-subscriptions #173)', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    publish(bus, 1)
    expect((await subscription.next()).value?.id).toBe(1)
  })

  it('of overlapping next() only the last settled (cordiverse/cordis #49)', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const reads = [subscription.next(), subscription.next(), subscription.next()]
    publish(bus, 2)
    bus.close()
    const results = await Promise.all(reads)
    expect(results.map((result) => result.value?.id ?? DONE)).toEqual([1, 2, DONE])
  })

  it('close dropped what was already queued (rolftimmermans/event-iterator #12)', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    publish(bus, 2)
    bus.close()
    bus.close()
    expect(await framesOf(subscription)).toEqual([1, 2, DONE])
    expect(bus.publish({ type: 'late' })).toBeUndefined()
    expect([bus.lastEventId, await framesOf(bus.subscribe())]).toEqual([2, [DONE]])
  })

  it('a signal gathered one reaction per event (repeaterjs/repeater #65)', async () => {
    const bus = busWith(0)
    const { signal } = new AbortController()
    const subscription = bus.subscribe({ signal })
    for (let i = 0; i < 2000; i++) {
      const next = subscription.next()
      publish(bus, 1)
      await next
      expect(abortListeners(signal)).toBe(1)
    }
  })
})
