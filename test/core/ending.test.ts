import { describe, expect, it } from 'vitest'
import type { EventBus, Subscription } from '../../src/index.ts'
import { abortListeners, activeTimers, busWith, publish } from '../support/bus.ts'
import { DONE } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

interface Scene {
  bus: EventBus
  subscription: Subscription
  controller: AbortController
}

/** Every way in which a subscription comes to its end. */
const ways: [string, (scene: Scene) => unknown][] = [
  [
    'break out of for await',
    async ({ bus, subscription }) => {
      publish(bus, 1)
      for await (const _frame of subscription) break
    },
  ],
  [
    'an error thrown in the body of for await',
    async ({ bus, subscription }) => {
      publish(bus, 1)
      const loop = async () => {
        for await (const _frame of subscription) throw new Error('body')
      }
      await expect(loop()).rejects.toThrow('body')
    },
  ],
  [
    'break out of batches()',
    async ({ bus, subscription }) => {
      publish(bus, 1)
      for await (const _batch of subscription.batches()) break
    },
  ],
  ['return() of batches(), never iterated', ({ subscription }) => subscription.batches().return?.()],
  ['return()', ({ subscription }) => subscription.return()],
  [
    'return() while next() is pending',
    async ({ subscription }) => {
      await framesOf(subscription)
      await subscription.return()
      expect(await framesOf(subscription)).toEqual([DONE])
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
      await framesOf(subscription)
      controller.abort()
      expect(await framesOf(subscription)).toEqual([DONE])
    },
  ],
  ['eviction, never read', ({ bus }) => publish(bus, 3)],
  [
    'eviction, read to its end',
    async ({ bus, subscription }) => {
      publish(bus, 3)
      await framesOf(subscription)
    },
  ],
  [
    'bus.end(), read to its end',
    async ({ bus, subscription }) => {
      bus.end()
      await framesOf(subscription)
    },
  ],
  ['bus.end(), never iterated', ({ bus }) => bus.end()],
  [
    'bus.close(), read to its end',
    async ({ bus, subscription }) => {
      bus.close()
      await framesOf(subscription)
    },
  ],
  ['bus.close(), never iterated', ({ bus }) => bus.close()],
  ['bus.close({ drain: false })', ({ bus }) => bus.close({ drain: false })],
  ['dispose', ({ subscription }) => subscription[Symbol.asyncDispose]()],
  ['dispose of the bus', ({ bus }) => bus[Symbol.dispose]()],
]

const kinds: [string, (bus: EventBus, signal: AbortSignal) => Subscription][] = [
  ['a live subscription', (bus, signal) => bus.subscribe({ signal, maxQueued: 2 })],
  ['a resumed one', (bus, signal) => bus.subscribe({ signal, maxQueued: 2, lastEventId: 0 })],
  [
    'a resumed one, read in part',
    (bus, signal) => {
      const subscription = bus.subscribe({ signal, maxQueued: 2, lastEventId: 0 })
      void subscription.next()
      return subscription
    },
  ],
]

describe.each(ways)('%s', (_way, end) => {
  it.each(kinds)('leaves nothing behind: %s', async (_kind, subscribe) => {
    const timers = activeTimers()
    const controller = new AbortController()
    for (let round = 0; round < 50; round++) {
      const bus = busWith(3)
      const subscription = subscribe(bus, controller.signal)
      expect(abortListeners(controller.signal)).toBe(controller.signal.aborted ? 0 : 1)
      await end({ bus, subscription, controller })
      expect(bus.subscriberCount).toBe(0)
      expect(bus.stats().subscribers).toEqual([])
      expect(abortListeners(controller.signal)).toBe(0)
      expect(subscription.closed).toBe(true)
      if (controller.signal.aborted) break
    }
    expect(activeTimers()).toBe(timers)
  })

  it.each(kinds)('is final for %s: afterwards done, whatever is called', async (_kind, subscribe) => {
    const bus = busWith(3)
    const controller = new AbortController()
    const subscription = subscribe(bus, controller.signal)
    await end({ bus, subscription, controller })
    await framesOf(subscription)
    expect(await subscription.next()).toEqual({ value: undefined, done: true })
    expect(await subscription.return('x')).toEqual({ value: 'x', done: true })
    expect(await subscription.next()).toEqual({ value: undefined, done: true })
    expect(await subscription.batches().next()).toEqual({ value: undefined, done: true })
    await expect(subscription.throw(new Error('late'))).rejects.toThrow('late')
    controller.abort()
    bus.publish({ type: 'tick' })
    expect(await subscription.next()).toEqual({ value: undefined, done: true })
    expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
  })
})

describe('abort', () => {
  it('drops what was buffered', async () => {
    const bus = busWith(0)
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal })
    publish(bus, 3)
    controller.abort()
    expect([subscription.queued, subscription.closed]).toEqual([0, true])
    expect(await subscription.next()).toEqual({ value: undefined, done: true })
  })

  it('resolves a pending next() as done at once, also several, and a pending batch', async () => {
    const bus = busWith(0)
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal })
    const pending = [subscription.next(), subscription.next(), subscription.batches().next()]
    let settledCount = 0
    for (const promise of pending) void promise.then(() => settledCount++)
    controller.abort()
    await undefined
    await undefined
    expect(settledCount).toBe(3)
    for (const promise of pending) expect(await promise).toEqual({ value: undefined, done: true })
  })

  it('stops a stream that is already evicted', async () => {
    const bus = busWith(0)
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal, maxQueued: 2 })
    publish(bus, 3)
    expect(await take(subscription, 1)).toEqual([1])
    controller.abort()
    expect(await framesOf(subscription)).toEqual([DONE])
  })

  it.each(['end', 'close'] as const)('stops a stream that drains after %s()', async (way) => {
    const bus = busWith(3)
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal, lastEventId: 0 })
    publish(bus, 2)
    bus[way]()
    expect(await take(subscription, 1)).toEqual([1])
    controller.abort()
    expect(await framesOf(subscription)).toEqual([DONE])
  })

  it('stops a replay that was begun on an ended bus', async () => {
    const bus = busWith(3)
    bus.end()
    const controller = new AbortController()
    const subscription = bus.subscribe({ signal: controller.signal, lastEventId: 0 })
    expect(await take(subscription, 1)).toEqual([1])
    controller.abort()
    expect(await framesOf(subscription)).toEqual([DONE])
    expect(abortListeners(controller.signal)).toBe(0)
  })

  it('stops a read by batches too', async () => {
    const bus = busWith(600)
    const controller = new AbortController()
    const batches = bus.subscribe({ signal: controller.signal, lastEventId: 0 }).batches()
    expect((await batches.next()).value).toHaveLength(256)
    controller.abort()
    expect(await batches.next()).toEqual({ value: undefined, done: true })
  })

  it('of one signal ends all subscriptions that were given it', () => {
    const bus = busWith(0)
    const controller = new AbortController()
    for (let i = 0; i < 9; i++) bus.subscribe({ signal: controller.signal })
    controller.abort()
    expect(bus.subscriberCount).toBe(0)
  })

  it('raises no MaxListenersExceededWarning over many short subscriptions', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    const bus = busWith(0)
    const { signal } = new AbortController()
    for (let i = 0; i < 50; i++) {
      const subscription = bus.subscribe({ signal })
      expect(abortListeners(signal)).toBe(1)
      await subscription.return()
    }
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })
})
