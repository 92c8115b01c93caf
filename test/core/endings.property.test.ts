import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventBus, Subscription } from '../../src/index.ts'
import { abortListeners, activeTimers, busWith, publish } from '../support/bus.ts'
import { DONE } from '../support/frames.ts'
import { framesOf } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

interface Scene {
  bus: EventBus
  subscription: Subscription
  controller: AbortController
}

const endings: Record<string, (scene: Scene) => unknown> = {
  return: ({ subscription }) => subscription.return(),
  throw: ({ subscription }) => subscription.throw(new Error('over')).catch(() => {}),
  dispose: ({ subscription }) => subscription[Symbol.asyncDispose](),
  'batches().return': ({ subscription }) => subscription.batches().return?.(),
  abort: ({ controller }) => controller.abort(),
  eviction: ({ bus, subscription }) => {
    while (!subscription.closed) publish(bus, 1)
  },
  end: async ({ bus, subscription }) => {
    bus.end()
    await framesOf(subscription)
  },
  close: ({ bus }) => bus.close(),
  'close({ drain: false })': ({ bus }) => bus.close({ drain: false }),
  'dispose of the bus': ({ bus }) => bus[Symbol.dispose](),
}

const scenes = fc.record({
  ringSize: fc.nat(10),
  published: fc.nat(15),
  cursor: fc.constantFrom({}, { lastEventId: 0 }, { lastEventId: 99 }, { from: 'earliest' as const }),
  filtered: fc.boolean(),
  read: fc.nat(8),
  waiting: fc.nat(3),
  queued: fc.nat(4),
  ways: fc.array(fc.constantFrom(...Object.keys(endings)), { minLength: 1, maxLength: 3 }),
})

describe('every way of ending', () => {
  it(
    'leaves 0 subscribers, 0 abort listeners and 0 timers, from any state, also one upon another',
    async () => {
      await fc.assert(
        fc.asyncProperty(scenes, async (plan) => {
          const timers = activeTimers()
          const bus = busWith(plan.published, { ringSize: plan.ringSize })
          const controller = new AbortController()
          const subscription = bus.subscribe({
            ...plan.cursor,
            signal: controller.signal,
            maxQueued: 5,
            ...(plan.filtered ? { filter: (event: { id: number }) => event.id % 3 !== 0 } : {}),
          })
          const pending = Array.from({ length: plan.read + plan.waiting }, () => subscription.next())
          publish(bus, plan.queued)
          const scene = { bus, subscription, controller }
          for (const way of plan.ways) {
            if (way === 'eviction' && bus.ended) continue
            await endings[way]?.(scene)
          }
          expect(bus.subscriberCount).toBe(0)
          expect(abortListeners(controller.signal)).toBe(0)
          expect(activeTimers()).toBe(timers)
          expect(subscription.closed).toBe(true)
          // Nobody is left waiting, and the end is the end.
          await Promise.all(pending)
          expect((await framesOf(subscription)).at(-1)).toBe(DONE)
          expect(await subscription.next()).toEqual({ value: undefined, done: true })
          expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
        }),
        runs(200),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
