import { describe, expect, it } from 'vitest'
import type { BusEvent, Frame, Subscription } from '../../src/index.ts'
import { complete, DONE, notationOf, range, resync, warning } from '../support/frames.ts'
import { publish, Reports, read, rest, type World } from './world.ts'

const odd = (event: BusEvent) => event.id % 2 === 1

async function batch(batches: AsyncIterator<Frame[], unknown>) {
  const result = await batches.next()
  return result.done === true ? DONE : result.value.map(notationOf)
}

const received = (subscription: Subscription) =>
  new Promise<IteratorResult<Frame, undefined>>((resolve, reject) => subscription.receive(resolve, reject))

export function reading({ open, busWith }: World): void {
  describe('batches()', () => {
    it('are all that is ready at once, and empty the backlog', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 8 })
      const batches = subscription.batches()
      await publish(bus, 6)
      const told = warning({ queueSize: 6, maxQueued: 8, lastEventId: 6 })
      expect(await batch(batches)).toEqual([...range(1, 6), told])
      expect(subscription.queued).toBe(0)
    })

    it('hold 256 frames at the most', async () => {
      const { bus } = await open({ maxQueued: 1000 })
      const batches = bus.subscribe().batches()
      await publish(bus, 300)
      expect(await batch(batches)).toEqual(range(1, 256))
      expect(await batch(batches)).toEqual(range(257, 300))
    })

    it('are never empty and never longer, replayed and live', async () => {
      const bus = await busWith(600)
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publish(bus, 3)
      await bus.end()
      const all: unknown[] = []
      for await (const frames of subscription.batches()) {
        expect(frames.length).toBeGreaterThan(0)
        expect(frames.length).toBeLessThanOrEqual(256)
        all.push(...frames.map(notationOf))
      }
      expect(all).toEqual([...range(1, 600), complete(600, 600), 601, 602, 603])
    })

    it('are given to a reader that waits, and then are not counted', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 1 })
      const waiting = batch(subscription.batches())
      await publish(bus, 1)
      expect(subscription.queued).toBe(0)
      expect(await waiting).toEqual([1])
    })

    it('share one stream with next(), in either order', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      await publish(bus, 4)
      expect(await read(subscription, 1)).toEqual([1])
      expect(await batch(subscription.batches())).toEqual([2, 3, 4])
      await publish(bus, 1)
      expect(await read(subscription, 1)).toEqual([5])
    })
  })

  describe('reads that overlap', () => {
    it('are answered first come, first served', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      const nexts = [subscription.next(), subscription.next(), subscription.next()]
      await publish(bus, 2)
      await bus.close()
      expect((await Promise.all(nexts)).map((result) => result.value?.id)).toEqual([1, 2, undefined])
    })

    it('are answered in that order by a replay, too', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publish(bus, 1)
      const results = await Promise.all(range(1, 4).map(() => subscription.next()))
      expect(results.map((result) => notationOf(result.value as Frame))).toEqual([1, 2, complete(2, 2), 3])
    })

    it('of next() and batches() share the line', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      const reads = [subscription.next(), subscription.batches().next(), subscription.next()] as const
      await publish(bus, 3)
      expect((await reads[0]).value?.id).toBe(1)
      const second = ((await reads[1]).value ?? []).map((frame) => frame.id)
      expect([...second, (await reads[2]).value?.id].slice(0, 2)).toEqual([2, 3])
    })
  })

  describe('for adapters', () => {
    it('tryNext() is the next frame or nothing, and what is left stays counted', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      expect(subscription.tryNext()).toBeUndefined()
      await publish(bus, 3)
      expect(subscription.tryNext()?.id).toBe(1)
      expect(subscription.queued).toBe(2)
      expect(await read(subscription, 1)).toEqual([2])
      expect(subscription.tryNext()?.id).toBe(3)
      expect(subscription.tryNext()).toBeUndefined()
    })

    it('tryNext() and receive() read a replay between them', async () => {
      const bus = await busWith(40)
      const subscription = bus.subscribe({ lastEventId: 0 })
      await bus.end()
      const frames: unknown[] = []
      for (;;) {
        for (let frame = subscription.tryNext(); frame !== undefined; frame = subscription.tryNext()) {
          frames.push(notationOf(frame))
        }
        const result = await received(subscription)
        if (result.done === true) break
        frames.push(notationOf(result.value))
      }
      expect(frames).toEqual([...range(1, 40), complete(40, 40)])
    })

    it('receive() calls back with what comes, and at the end with done', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      const [first, second] = [received(subscription), received(subscription)]
      await publish(bus, 1)
      expect((await first).value?.id).toBe(1)
      await bus.end()
      expect(await second).toEqual({ value: undefined, done: true })
    })

    it('keptOf() is one record for a frame, whoever of the bus asks', async () => {
      const bus = await busWith(1)
      const [one, other] = [bus.subscribe(), bus.subscribe()]
      await publish(bus, 1)
      const { value } = await one.next()
      const kept = one.keptOf(value as Frame)
      expect(kept).toBeTypeOf('object')
      expect(other.keptOf(value as Frame)).toBe(kept)
    })

    it('report() is the bus’s onDiagnostic', async () => {
      const reports = new Reports()
      const { bus } = await open(reports)
      const report = { type: 'invalid_last_event_id', value: 'x' } as const
      bus.subscribe().report(report)
      expect(await reports.first('invalid_last_event_id')).toEqual([report])
    })

    it('onBusClose() calls back as the bus closes, also behind the end of the subscription', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      let stopped = false
      const stop = subscription.onBusClose(() => {
        stopped = true
      })
      const closed = new Promise<void>((resolve) => subscription.onBusClose(resolve))
      stop()
      await subscription.return()
      await bus.close()
      await closed
      expect(stopped).toBe(false)
    })
  })

  describe('where a subscription is', () => {
    it('is at first its cursor, or the head', async () => {
      const bus = await busWith(5)
      const [live, resumed] = [bus.subscribe(), bus.subscribe({ lastEventId: 2 })]
      expect([live.lastDeliveredId, live.position]).toEqual([5, 5])
      expect([resumed.lastDeliveredId, resumed.position]).toEqual([2, 2])
      for (const subscription of [live, resumed]) {
        expect([subscription.closed, subscription.evicted, subscription.queued]).toEqual([false, false, 0])
        expect(subscription.epoch).toBe(bus.epoch)
      }
    })

    it('moves with what is handed out, not with what is queued', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publish(bus, 2)
      for (const id of [1, 2, 3]) {
        await read(subscription, 1)
        expect(subscription.lastDeliveredId).toBe(id)
      }
      expect(await read(subscription, 1)).toEqual([complete(3, 3)])
      expect([subscription.lastDeliveredId, subscription.position]).toEqual([3, 3])
      await read(subscription, 2)
      expect([subscription.lastDeliveredId, subscription.position]).toEqual([5, 5])
    })

    it('moves over a filtered event once what is before it was handed out', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ filter: odd })
      await publish(bus, 4)
      expect(subscription.position).toBe(0)
      await read(subscription, 1)
      expect([subscription.lastDeliveredId, subscription.position]).toEqual([1, 2])
      await read(subscription, 1)
      expect([subscription.lastDeliveredId, subscription.position]).toEqual([3, 4])
    })

    it('does not run ahead of a replay that is not read, though live events are filtered', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ lastEventId: 0, filter: (event) => event.id <= 3 })
      await publish(bus, 2)
      expect(subscription.position).toBe(0)
      await read(subscription, 4)
      expect(subscription.position).toBe(5)
    })

    it('counts what a resync frame announced as gone, and takes its epoch', async () => {
      const bus = await busWith(5, { ringSize: 2 })
      const subscription = bus.subscribe({ lastEventId: 0 })
      const frames = [resync('ring_evicted', 0, 4, { epoch: bus.epoch }), 4]
      expect(await read(subscription, 2)).toEqual(frames)
      expect([subscription.lastDeliveredId, subscription.position]).toEqual([4, 4])
      const stale = bus.subscribe({ lastEventId: 9, epoch: 'another' })
      expect(stale.epoch).toBe('another')
      await read(stale, 2)
      expect([stale.epoch, stale.lastDeliveredId, stale.position]).toEqual([bus.epoch, 4, 4])
    })

    it('is, after an eviction was read to its end, the id before the refused event', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe({ maxQueued: 2, filter: odd })
      await publish(bus, 8)
      expect([subscription.evicted, subscription.position]).toEqual([true, 0])
      await rest(subscription)
      expect([subscription.position, subscription.lastDeliveredId]).toEqual([4, 3])
      const resumed = bus.subscribe({ lastEventId: subscription.position, filter: odd })
      expect(await read(resumed, 3)).toEqual([5, 7, complete(2, 7)])
    })

    it('is closed once nothing more will be pushed, though frames may be left to read', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      await publish(bus, 1)
      expect(subscription.closed).toBe(false)
      await bus.end()
      expect([subscription.closed, subscription.evicted, subscription.queued]).toEqual([true, false, 1])
      expect(await rest(subscription)).toEqual([1, DONE])
    })
  })
}
