import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedAsyncQueue, EventBus } from '../../src/index.ts'
import { sizeOf } from '../support/bus.ts'
import { drained, framesOf, take } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'ä', '€', '😀', '\ud800', 'x'.repeat(500)),
)

const events = fc.array(
  fc.record(
    {
      data: fc.oneof(text, fc.jsonValue(), fc.constant(undefined)),
      path: text,
      _meta: fc.dictionary(text, text),
    },
    { requiredKeys: [] },
  ),
  { maxLength: 30 },
)

describe('counters', () => {
  it(
    'of a subscription are the sums of what is unread, and exactly 0 after a drain',
    async () => {
      await fc.assert(
        fc.asyncProperty(events, fc.nat(30), fc.nat(5), async (inputs, readFirst, replayed) => {
          const bus = new EventBus({ maxQueuedBytes: 10_000_000 })
          for (let i = 0; i < replayed; i++) bus.publish({ type: 'before', data: 'ü' })
          const subscription = bus.subscribe({ lastEventId: 0, warnings: false })
          const sizes: number[] = []
          for (const input of inputs) {
            const event = bus.publish({ type: 'tick', ...input })
            if (event === undefined) throw new Error('a plain event was refused')
            sizes.push(sizeOf(event))
          }
          const sum = (from: number) => sizes.slice(from).reduce((total, size) => total + size, 0)
          expect([subscription.queued, subscription.queuedBytes]).toEqual([sizes.length, sum(0)])
          const reads = Math.min(readFirst, sizes.length)
          await take(subscription, replayed + 1 + reads)
          expect([subscription.queued, subscription.queuedBytes]).toEqual([sizes.length - reads, sum(reads)])
          await framesOf(subscription)
          expect([subscription.queued, subscription.queuedBytes]).toEqual([0, 0])
          expect(bus.stats().subscribers).toMatchObject([{ queued: 0, queuedBytes: 0 }])
        }),
        runs(150),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'of the ring are the sums of what is retained',
    () => {
      fc.assert(
        fc.property(
          events,
          fc.integer({ min: 1, max: 2000 }),
          fc.nat(10),
          (inputs, maxRingBytes, ringSize) => {
            const bus = new EventBus({ maxRingBytes, ringSize })
            const sizes: number[] = []
            for (const input of inputs) {
              const event = bus.publish({ type: 'tick', ...input })
              sizes.push(sizeOf(event ?? {}))
              while (sizes.length > ringSize || sizes.reduce((a, b) => a + b, 0) > maxRingBytes) sizes.shift()
              expect(bus.stats()).toMatchObject({
                ringEvents: sizes.length,
                ringBytes: sizes.reduce((a, b) => a + b, 0),
              })
            }
          },
        ),
        runs(150),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'of a queue are exactly 0 after a drain, also with sizes that do not add up in floating point',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.oneof(
              fc.nat(1000),
              fc.double({ min: 0, max: 1e15, noNaN: true }),
              fc.constantFrom(0.1, 0.2, 0.3),
            ),
            {
              maxLength: 40,
            },
          ),
          fc.array(fc.nat(40)),
          async (sizes, forcedAt) => {
            const queue = new BoundedAsyncQueue<number>({ maxSize: 1000 })
            for (const [index, size] of sizes.entries()) {
              if (forcedAt.includes(index)) queue.forcePush(-1)
              queue.push(index, size)
            }
            expect(queue.size).toBe(sizes.length)
            const { values } = await drained(queue)
            expect(values.filter((value) => value >= 0)).toEqual([...sizes.keys()])
            expect([queue.size, queue.bytes]).toEqual([0, 0])
          },
        ),
        runs(150),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
