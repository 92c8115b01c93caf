import { describe, expect, it } from 'vitest'
import type { EventBus, Subscription } from '../../src/index.ts'
import { ways, waysOfAll } from '../conformance/ending.ts'
import { abortListeners, activeTimers, busWith, publish } from '../support/bus.ts'
import { DONE } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

interface Scene {
  bus: EventBus
  subscription: Subscription
  controller: AbortController
}

/** Two more of the ways in which a subscription ends, which need to know that nothing is ready. */
const whileIdle: typeof ways = [
  [
    'return() once all was read, while next() is pending',
    async ({ subscription }) => {
      await framesOf(subscription)
      await subscription.return()
      expect(await framesOf(subscription)).toEqual([DONE])
    },
  ],
  [
    'abort once all was read, while next() is pending',
    async ({ subscription, controller }) => {
      await framesOf(subscription)
      controller.abort()
      expect(await framesOf(subscription)).toEqual([DONE])
    },
  ],
]

const readInPart = (bus: EventBus, signal: AbortSignal) => {
  const subscription = bus.subscribe({ signal, maxQueued: 2, lastEventId: 0 })
  void subscription.next()
  return subscription
}

const kinds: [string, (bus: EventBus, signal: AbortSignal) => Subscription][] = [
  ['a live subscription', (bus, signal) => bus.subscribe({ signal, maxQueued: 2 })],
  ['a resumed one', (bus, signal) => bus.subscribe({ signal, maxQueued: 2, lastEventId: 0 })],
  ['a resumed one, read in part', readInPart],
]

describe.each([...ways, ...waysOfAll, ...whileIdle])('%s', (_way, end) => {
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

  it('is final, also for what was read in part: afterwards done, whatever is called', async () => {
    const bus = busWith(3)
    const controller = new AbortController()
    const subscription = readInPart(bus, controller.signal)
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

describe('before the call returns', () => {
  const calls: [string, (scene: Scene) => unknown][] = [
    ['return()', ({ subscription }) => subscription.return()],
    ['throw()', ({ subscription }) => subscription.throw('over').catch(() => {})],
    ['dispose', ({ subscription }) => subscription[Symbol.asyncDispose]()],
    ['abort', ({ controller }) => controller.abort()],
    ['the publish that evicts', ({ bus }) => publish(bus, 3)],
    ['bus.end()', ({ bus }) => bus.end()],
    ['bus.close()', ({ bus }) => bus.close()],
    ['bus.close({ drain: false })', ({ bus }) => bus.close({ drain: false })],
  ]

  it.each(calls)(
    '%s has closed the subscription, and freed its slot and its abort listener',
    (_call, end) => {
      const bus = busWith(0)
      const controller = new AbortController()
      const subscription = bus.subscribe({ signal: controller.signal, maxQueued: 2 })
      void end({ bus, subscription, controller })
      expect([subscription.closed, abortListeners(controller.signal)]).toEqual([true, 0])
      expect([bus.subscriberCount, bus.stats().subscribers]).toEqual([0, []])
    },
  )

  it('a slot is free for the next one', () => {
    const bus = busWith(0, { maxSubscribers: 1, maxQueued: 1 })
    void bus.subscribe().return()
    bus.subscribe()
    publish(bus, 2)
    expect(() => bus.subscribe()).not.toThrow()
  })

  it('the bus shows that it has ended, and is closed', () => {
    const bus = busWith(0)
    expect([bus.ended, bus.closed]).toEqual([false, false])
    bus.end()
    expect([bus.ended, bus.closed]).toEqual([true, false])
    bus.close()
    expect([bus.ended, bus.closed]).toEqual([true, true])
  })
})

describe('abort', () => {
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

  it.each(['end', 'close'] as const)('stops a replay that was begun before %s()', async (way) => {
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
