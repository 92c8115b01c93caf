import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { type Gap, startRouter, subscribe } from '../../src/router/index.ts'
import { publish } from '../support/bus.ts'
import { range } from '../support/frames.ts'
import { flush } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

/** Publishes in bursts, each when the scheduler says so. */
function bursts(scheduler: fc.Scheduler, bus: EventBus, sizes: number[]): Promise<unknown> {
  return scheduler.scheduleSequence(
    sizes.map((size) => async () => {
      publish(bus, size)
      await flush()
    }),
  ).task
}

/** Lets scheduled tasks happen until none is left, also those that tasks bring about. */
async function exhaust(scheduler: fc.Scheduler): Promise<void> {
  await flush()
  while (scheduler.count() > 0) {
    await scheduler.waitOne()
    await flush()
  }
}

const ascending = (ids: number[]) => [...ids].sort((a, b) => a - b)

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 })

it(
  'every subscriber gets, in order and once, all events that the ring covers, and is told of all others',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        sizes,
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(0, 1, 3, 8, 1000),
        fc.array(fc.constantFrom(1, 2, 3, Infinity), { minLength: 1, maxLength: 3 }),
        async (scheduler, plan, maxQueued, ringSize, concurrencies) => {
          const bus = new EventBus({ maxQueued, ringSize })
          const total = plan.reduce((sum, size) => sum + size, 0)
          const all = concurrencies.map((concurrency) => {
            const started: number[] = []
            const finished: number[] = []
            const gaps: Gap[] = []
            const handle = subscribe(bus, { concurrency, onGap: (gap) => gaps.push(gap) }, async ({ id }) => {
              started.push(id)
              await scheduler.schedule(Promise.resolve())
              finished.push(id)
            })
            return { concurrency, started, finished, gaps, handle }
          })
          const publishing = bursts(scheduler, bus, plan)
          await exhaust(scheduler)
          await publishing
          for (const { concurrency, started, finished, gaps, handle } of all) {
            const missed = gaps.flatMap(({ from, to }) => range(from, to))
            expect(started).toEqual(ascending(started))
            expect(ascending([...started, ...missed])).toEqual(range(1, total))
            expect(ascending(finished)).toEqual(started)
            if (concurrency === 1) expect(finished).toEqual(started)
            if (ringSize >= total) expect(gaps).toEqual([])
            expect(handle.position).toBe(total)
          }
          expect(bus.subscriberCount).toBe(all.length)
          expect(bus.stats().evicted).toBe(0)
        },
      ),
      runs(200),
    )
  },
  PROPERTY_TIMEOUT,
)

it(
  'no handler runs once close() has resolved, whenever it is called and by whom',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        sizes,
        fc.integer({ min: 1, max: 4 }),
        fc.nat({ max: 20 }),
        fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 2 }),
        async (scheduler, plan, concurrency, fromOutside, closingIds) => {
          const bus = new EventBus({ maxQueued: 3 })
          let running = 0
          let closed = false
          const faults: string[] = []
          const handle = subscribe(bus, { concurrency }, async ({ id }, { close }) => {
            running++
            if (closed) faults.push(`${id} started behind the barrier`)
            await scheduler.schedule(Promise.resolve())
            if (closingIds.includes(id)) await close()
            await scheduler.schedule(Promise.resolve())
            if (closed) faults.push(`${id} ran behind the barrier`)
            running--
          })
          void bursts(scheduler, bus, plan)
          const closing = (async () => {
            for (let turn = 0; turn < fromOutside; turn++) await scheduler.schedule(Promise.resolve())
            await handle.close()
            closed = true
            if (running > 0) faults.push(`${running} were running when the barrier fell`)
          })()
          await exhaust(scheduler)
          await closing
          publish(bus, 3)
          await exhaust(scheduler)
          expect(faults).toEqual([])
          expect(bus.subscriberCount).toBe(0)
        },
      ),
      runs(300),
    )
  },
  PROPERTY_TIMEOUT,
)

it(
  'no handler of a router runs once any stop() has resolved, but the one that called it',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        sizes,
        fc.integer({ min: 1, max: 3 }),
        fc.nat({ max: 15 }),
        fc.record({ handler: fc.nat({ max: 2 }), id: fc.integer({ min: 1, max: 8 }) }),
        async (scheduler, plan, count, fromOutside, inside) => {
          const bus = new EventBus({ maxQueued: 3 })
          const running = new Set<string>()
          const faults: string[] = []
          let stopped = false
          const router = startRouter(bus, {
            handlers: Array.from({ length: count }, (_, number) => ({
              pattern: '**',
              async handle({ id }: { id: number }): Promise<void> {
                const own = `${number}:${id}`
                running.add(own)
                if (stopped) faults.push(`${own} started behind the barrier`)
                const stopping = inside.handler === number && inside.id === id ? router.stop() : undefined
                await scheduler.schedule(Promise.resolve())
                await stopping
                if (stopping && running.size > 1) faults.push(`${[...running]} ran when ${own} had stopped`)
                running.delete(own)
              },
            })),
          }) as { stop(): Promise<void> }
          void bursts(scheduler, bus, plan)
          const closing = (async () => {
            for (let turn = 0; turn < fromOutside; turn++) await scheduler.schedule(Promise.resolve())
            await router.stop()
            stopped = true
            if (running.size > 0) faults.push(`${[...running]} were running when the barrier fell`)
          })()
          await exhaust(scheduler)
          await closing
          publish(bus, 3)
          await exhaust(scheduler)
          expect(faults).toEqual([])
          expect(bus.subscriberCount).toBe(0)
        },
      ),
      runs(300),
    )
  },
  PROPERTY_TIMEOUT,
)
