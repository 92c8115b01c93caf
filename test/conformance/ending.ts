import { describe, expect, it } from 'vitest'
import type { Subscription } from '../../src/index.ts'
import { abortListeners } from '../support/bus.ts'
import { DONE } from '../support/frames.ts'
import { type ConformingBus, publish, Reports, read, rest, type World } from './world.ts'

interface Scene {
  bus: ConformingBus
  subscription: Subscription
  controller: AbortController
}

/** Every way in which one subscription ends and the bus goes on. Each subscription has room for two events. */
export const ways: [string, (scene: Scene) => unknown][] = [
  [
    'break out of for await',
    async ({ bus, subscription }) => {
      await publish(bus, 1)
      for await (const _frame of subscription) break
    },
  ],
  [
    'an error thrown in the body of for await',
    async ({ bus, subscription }) => {
      await publish(bus, 1)
      const loop = async () => {
        for await (const _frame of subscription) throw new Error('body')
      }
      await expect(loop()).rejects.toThrow('body')
    },
  ],
  [
    'break out of batches()',
    async ({ bus, subscription }) => {
      await publish(bus, 1)
      for await (const _batch of subscription.batches()) break
    },
  ],
  ['return() of batches(), never iterated', ({ subscription }) => subscription.batches().return?.()],
  ['return()', ({ subscription }) => subscription.return()],
  [
    'return() while next() is pending',
    async ({ subscription }) => {
      const next = subscription.next()
      expect(await subscription.return('bye')).toEqual({ value: 'bye', done: true })
      await next
    },
  ],
  [
    'throw()',
    ({ subscription }) => expect(subscription.throw(new Error('thrown'))).rejects.toThrow('thrown'),
  ],
  ['abort', ({ controller }) => controller.abort()],
  [
    'abort while next() is pending',
    async ({ subscription, controller }) => {
      const next = subscription.next()
      controller.abort()
      await next
    },
  ],
  ['eviction, never read', ({ bus }) => publish(bus, 3)],
  [
    'eviction, read to its end',
    async ({ bus, subscription }) => {
      await publish(bus, 3)
      await rest(subscription)
    },
  ],
  ['dispose', ({ subscription }) => subscription[Symbol.asyncDispose]()],
]

/** Every way in which all of them do. */
export const waysOfAll: [string, (scene: Scene) => unknown][] = [
  ['bus.end(), never iterated', ({ bus }) => bus.end()],
  [
    'bus.end(), read to its end',
    async ({ bus, subscription }) => {
      await bus.end()
      await rest(subscription)
    },
  ],
  ['bus.close(), never iterated', ({ bus }) => bus.close()],
  [
    'bus.close(), read to its end',
    async ({ bus, subscription }) => {
      await bus.close()
      await rest(subscription)
    },
  ],
  ['bus.close({ drain: false })', ({ bus }) => bus.close({ drain: false })],
  ['dispose of the bus', ({ bus }) => (bus[Symbol.asyncDispose] ?? bus[Symbol.dispose])?.call(bus)],
]

const kinds: [string, { lastEventId?: number }][] = [
  ['a live subscription', {}],
  ['a resumed one', { lastEventId: 0 }],
]

export function ending({ open, busWith }: World): void {
  async function scene(cursor: { lastEventId?: number }): Promise<Scene> {
    const bus = await busWith(3)
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal, maxQueued: 2, ...cursor })
    return { bus, controller, subscription }
  }

  describe.each([...ways, ...waysOfAll])('%s', (_way, end) => {
    it.each(kinds)('leaves nothing of %s, and is final', async (_kind, cursor) => {
      const { bus, controller, subscription } = await scene(cursor)
      expect([bus.subscriberCount, abortListeners(controller.signal)]).toEqual([1, 1])
      await end({ bus, controller, subscription })
      expect([bus.subscriberCount, abortListeners(controller.signal)]).toEqual([0, 0])
      expect(bus.stats().subscribers).toEqual([])
      expect(subscription.closed).toBe(true)
      await rest(subscription)
      expect(await subscription.next()).toEqual({ value: undefined, done: true })
      expect(await subscription.return('x')).toEqual({ value: 'x', done: true })
      expect(await subscription.batches().next()).toEqual({ value: undefined, done: true })
      await expect(subscription.throw(new Error('late'))).rejects.toThrow('late')
      controller.abort()
      await bus.publish({ type: 'tick' })
      expect(await subscription.next()).toEqual({ value: undefined, done: true })
      expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
    })
  })

  describe('what was buffered', () => {
    it.each(['return', 'abort', 'throw', 'dispose'])('is dropped by %s', async (way) => {
      const { bus, controller, subscription } = await scene({ lastEventId: 0 })
      await publish(bus, 2)
      expect(await read(subscription, 1)).toEqual([1])
      if (way === 'return') await subscription.return()
      else if (way === 'abort') controller.abort()
      else if (way === 'throw') await subscription.throw(new Error('x')).catch(() => {})
      else await subscription[Symbol.asyncDispose]()
      expect(subscription.queued).toBe(0)
      expect(await rest(subscription)).toEqual([DONE])
    })

    it.each(['end', 'close'] as const)('and drains after %s() stops at an abort', async (way) => {
      const { bus, controller, subscription } = await scene({})
      await publish(bus, 2)
      await bus[way]()
      expect(await read(subscription, 1)).toEqual([4])
      controller.abort()
      expect(await rest(subscription)).toEqual([DONE])
    })
  })

  describe('a read that waits', () => {
    it.each(['return', 'throw', 'abort', 'end', 'close'] as const)('is done at %s', async (way) => {
      const { bus, controller, subscription } = await scene({})
      const waiting = [subscription.next(), subscription.next(), subscription.batches().next()]
      if (way === 'return') await subscription.return()
      else if (way === 'throw') await expect(subscription.throw(new Error('x'))).rejects.toThrow('x')
      else if (way === 'abort') controller.abort()
      else await bus[way]()
      for (const result of await Promise.all(waiting))
        expect(result).toEqual({ value: undefined, done: true })
    })
  })

  it('with an aborted signal is where a subscription begins', async () => {
    const bus = await busWith(3)
    for (const cursor of [{}, { lastEventId: 0 }, { from: 'earliest' as const }]) {
      const subscription = bus.subscribe({ signal: AbortSignal.abort(), ...cursor })
      expect([subscription.closed, bus.subscriberCount]).toEqual([true, 0])
      expect(await rest(subscription)).toEqual([DONE])
    }
  })

  it('of one signal is that of all subscriptions that were given it', async () => {
    const { bus } = await open()
    const controller = new AbortController()
    for (let i = 0; i < 9; i++) bus.subscribe({ signal: controller.signal })
    controller.abort()
    expect([bus.subscriberCount, abortListeners(controller.signal)]).toEqual([0, 0])
  })

  describe('maxSubscribers', () => {
    it('is a limit that is told by its code, and reported', async () => {
      const reports = new Reports()
      const { bus } = await open({ maxSubscribers: 2, onDiagnostic: reports.onDiagnostic })
      const first = bus.subscribe()
      bus.subscribe()
      const { signal } = new AbortController()
      const refused = expect.objectContaining({ code: 'subscriber_limit_exceeded', limit: 2 })
      expect(() => bus.subscribe({ signal })).toThrow(refused)
      expect([bus.subscriberCount, abortListeners(signal)]).toEqual([2, 0])
      expect(await reports.first('subscriber_rejected')).toEqual([{ type: 'subscriber_rejected', limit: 2 }])
      await publish(bus, 1)
      expect(await read(first, 1)).toEqual([1])
    })

    it.each(ways)('has its slot back by %s', async (_way, end) => {
      const bus = await busWith(3, { maxSubscribers: 1 })
      for (const [, cursor] of kinds) {
        const controller = new AbortController()
        const subscription = bus.subscribe({ signal: controller.signal, maxQueued: 2, ...cursor })
        expect(() => bus.subscribe()).toThrow()
        await end({ bus, controller, subscription })
        expect(bus.subscriberCount).toBe(0)
      }
      expect(() => bus.subscribe()).not.toThrow()
    })
  })
}
