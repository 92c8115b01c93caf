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

/** Falls once `close()` or `stop()` has resolved: whoever runs then, or starts behind it, is at fault. */
class Barrier {
  readonly faults: string[] = []
  /** Who runs now. */
  readonly running = new Set<string>()
  fell = false

  start(who: string): void {
    this.running.add(who)
    if (this.fell) this.faults.push(`${who} started behind the barrier`)
  }

  finish(who: string): void {
    if (this.fell) this.faults.push(`${who} ran behind the barrier`)
    this.running.delete(who)
  }

  /** Publishes in bursts, lets the barrier fall by a `stop` from outside after so many turns, and publishes on. */
  async check(
    scheduler: fc.Scheduler,
    bus: EventBus,
    plan: number[],
    turns: number,
    stop: () => Promise<void>,
  ): Promise<void> {
    void bursts(scheduler, bus, plan)
    const closing = (async () => {
      for (let turn = 0; turn < turns; turn++) await scheduler.schedule(Promise.resolve())
      await stop()
      this.fell = true
      if (this.running.size > 0) this.faults.push(`${[...this.running]} ran when the barrier fell`)
    })()
    await exhaust(scheduler)
    await closing
    publish(bus, 3)
    await exhaust(scheduler)
    expect(this.faults).toEqual([])
    expect(bus.subscriberCount).toBe(0)
  }
}

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
        fc.array(fc.record({ closes: fc.integer({ min: 1, max: 10 }), atOnce: fc.boolean() }), {
          maxLength: 3,
        }),
        async (scheduler, plan, concurrency, fromOutside, closing) => {
          const bus = new EventBus({ maxQueued: 3 })
          const barrier = new Barrier()
          const handle = subscribe(bus, { concurrency }, async ({ id }, { close }) => {
            barrier.start(`${id}`)
            const own = closing.filter(({ closes }) => closes === id)
            if (own.some(({ atOnce }) => atOnce)) await close()
            await scheduler.schedule(Promise.resolve())
            if (own.some(({ atOnce }) => !atOnce)) await close()
            await scheduler.schedule(Promise.resolve())
            barrier.finish(`${id}`)
          })
          await barrier.check(scheduler, bus, plan, fromOutside, () => handle.close())
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
          const barrier = new Barrier()
          const router = startRouter(bus, {
            handlers: Array.from({ length: count }, (_, number) => ({
              pattern: '**',
              async handle({ id }: { id: number }): Promise<void> {
                const own = `${number}:${id}`
                barrier.start(own)
                const stopping = inside.handler === number && inside.id === id ? router.stop() : undefined
                await scheduler.schedule(Promise.resolve())
                await stopping
                const others = [...barrier.running].filter((who) => who !== own)
                if (stopping && others.length > 0)
                  barrier.faults.push(`${others} ran when ${own} had stopped`)
                barrier.finish(own)
              },
            })),
          }) as { stop(): Promise<void> }
          await barrier.check(scheduler, bus, plan, fromOutside, () => router.stop())
        },
      ),
      runs(300),
    )
  },
  PROPERTY_TIMEOUT,
)
