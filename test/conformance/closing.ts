import { describe, expect, it } from 'vitest'
import { complete, DONE } from '../support/frames.ts'
import { publish, Reports, rest, type World } from './world.ts'

export function closing({ open, busWith }: World): void {
  describe('bus.close()', () => {
    it.each([undefined, {}, { drain: true }, { drain: undefined }])(
      'lets what was buffered drain with %o',
      async (options) => {
        const { bus } = await open()
        const subscription = bus.subscribe()
        await publish(bus, 2)
        await bus.close(options)
        expect([bus.closed, bus.ended, subscription.closed]).toEqual([true, true, true])
        expect(bus.subscriberCount).toBe(0)
        expect(await rest(subscription)).toEqual([1, 2, DONE])
      },
    )

    it('with { drain: false } drops it', async () => {
      const bus = await busWith(1)
      const [live, resumed] = [bus.subscribe(), bus.subscribe({ lastEventId: 0 })]
      await publish(bus, 2)
      await bus.close({ drain: false })
      for (const subscription of [live, resumed]) {
        expect(subscription.queued).toBe(0)
        expect(await rest(subscription)).toEqual([DONE])
      }
    })

    it('twice is once', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      await publish(bus, 1)
      await bus.close()
      await bus.close()
      expect(await rest(subscription)).toEqual([1, DONE])
    })

    it('is the end of publishing, silently, and of subscribing', async () => {
      const bus = await busWith(5)
      await bus.close()
      expect(await bus.publish({ type: 'tick' })).toBeUndefined()
      expect([bus.lastEventId, bus.stats().rejected]).toEqual([5, 0])
      for (const cursor of [{}, { lastEventId: 0 }, { lastEventId: 99 }, { from: 'earliest' as const }]) {
        const subscription = bus.subscribe(cursor)
        expect([subscription.closed, bus.subscriberCount]).toEqual([true, 0])
        expect(await rest(subscription)).toEqual([DONE])
      }
    })
  })

  describe('bus.end()', () => {
    it('lets live subscribers drain, then ends them', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      expect(bus.ended).toBe(false)
      await publish(bus, 2)
      await bus.end()
      expect([bus.ended, bus.closed, subscription.closed]).toEqual([true, false, true])
      expect(bus.subscriberCount).toBe(0)
      expect(await rest(subscription)).toEqual([1, 2, DONE])
    })

    it('lets a resumed stream be read to its end', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ lastEventId: 1 })
      await publish(bus, 1)
      await bus.end()
      expect(await rest(subscription)).toEqual([2, 3, complete(2, 3), 4, DONE])
    })

    it('keeps what is retained readable, until close()', async () => {
      const bus = await busWith(3)
      await bus.end()
      for (const cursor of [{ lastEventId: 1 }, { from: { last: 2 } }]) {
        const subscription = bus.subscribe(cursor)
        expect(await rest(subscription)).toEqual([2, 3, complete(2, 3), DONE])
        expect([subscription.closed, bus.subscriberCount]).toEqual([true, 0])
      }
      await bus.close()
      expect(await rest(bus.subscribe({ lastEventId: 1 }))).toEqual([DONE])
    })

    it('gives a subscriber without a cursor an ended subscription', async () => {
      const bus = await busWith(3)
      await bus.end()
      const subscription = bus.subscribe()
      expect([subscription.closed, bus.subscriberCount]).toEqual([true, 0])
      expect(await rest(subscription)).toEqual([DONE])
    })

    it('is the end of publishing, silently', async () => {
      const reports = new Reports()
      const { bus } = await open(reports)
      await publish(bus, 2)
      await bus.end()
      expect(await bus.publish({ type: 'tick' })).toBeUndefined()
      expect(await bus.publish({ type: '' })).toBeUndefined()
      expect([bus.lastEventId, bus.stats().rejected]).toEqual([2, 0])
    })

    it('twice, and after close(), is nothing more', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      await publish(bus, 1)
      await bus.end()
      await bus.end()
      await bus.close()
      await bus.end()
      expect([bus.ended, bus.closed]).toEqual([true, true])
      expect(await rest(subscription)).toEqual([1, DONE])
    })
  })

  describe('dispose', () => {
    it('of the bus is close({ drain: false })', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      await publish(bus, 1)
      await (bus[Symbol.asyncDispose] ?? bus[Symbol.dispose])?.call(bus)
      expect(bus.closed).toBe(true)
      expect(await rest(subscription)).toEqual([DONE])
    })
  })
}
