import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { observedBus, publishBytes } from '../support/bus.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

/** The rule of 75 % and 37.5 %, for one backlog given as the sizes of its events. */
class NaiveGauge {
  backlog: number[] = []
  warnings = 0
  evicted = false
  #armed = true
  readonly #maxQueued: number
  readonly #maxBytes: number

  constructor(maxQueued: number, maxBytes: number) {
    this.#maxQueued = maxQueued
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.backlog.reduce((sum, size) => sum + size, 0)
  }

  /** The backlog is at or above that share of its cap, by count or by bytes. */
  #reaches(share: number): boolean {
    return this.backlog.length >= share * this.#maxQueued || this.bytes >= share * this.#maxBytes
  }

  /** Both are at or below that share. */
  #within(share: number): boolean {
    return this.backlog.length <= share * this.#maxQueued && this.bytes <= share * this.#maxBytes
  }

  push(size: number): void {
    const full = this.backlog.length === this.#maxQueued
    if (full || (this.backlog.length > 0 && this.bytes + size > this.#maxBytes)) {
      this.evicted = true
      return
    }
    if (this.#within(0.375)) this.#armed = true
    this.backlog.push(size)
    if (!this.#armed || !this.#reaches(0.75)) return
    this.warnings++
    this.#armed = false
  }

  read(count: number): void {
    this.backlog.splice(0, count)
  }
}

type Step = { push: number } | { read: number } | { batch: true } | { fill: number; drain: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ push: fc.integer({ min: 60, max: 200 }) }) },
    { weight: 4, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ batch: fc.constant(true as const) }) },
    // An excursion: up to a share of the cap, down to another, in 64ths.
    {
      weight: 3,
      arbitrary: fc.record({ fill: fc.integer({ min: 0, max: 64 }), drain: fc.integer({ min: 0, max: 64 }) }),
    },
  ),
  { maxLength: 40 },
)

describe('the warning', () => {
  it(
    'comes once per excursion above 75 % and re-arms at 37.5 %, by count and by bytes',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 40 }),
          fc.constantFrom(300, 800, 2000, Number.POSITIVE_INFINITY),
          steps,
          async (maxQueued, maxQueuedBytes, steps) => {
            const { bus, reports } = observedBus({ ringSize: 0, maxRingBytes: 100_000 })
            const subscription = bus.subscribe({ maxQueued, maxQueuedBytes })
            const gauge = new NaiveGauge(maxQueued, maxQueuedBytes)
            const warnings = () => reports.filter((report) => report.type === 'slow_client_warning').length
            const push = (size: number) => {
              publishBytes(bus, size)
              gauge.push(size)
            }
            const readTo = async (left: number) => {
              while (subscription.queued > left) await subscription.next()
              gauge.read(gauge.backlog.length - left)
            }
            const check = () => {
              expect(warnings()).toBe(gauge.warnings)
              expect(subscription.closed).toBe(gauge.evicted)
              expect([subscription.queued, subscription.queuedBytes]).toEqual([
                gauge.backlog.length,
                gauge.bytes,
              ])
            }
            for (const step of steps) {
              if (gauge.evicted) break
              if ('push' in step) push(step.push)
              else if ('read' in step) await readTo(Math.max(0, gauge.backlog.length - step.read))
              else if ('batch' in step) {
                if (gauge.backlog.length > 0) await subscription.batches().next()
                gauge.read(gauge.backlog.length)
              } else {
                const target = Math.floor((step.fill / 64) * maxQueued)
                while (!gauge.evicted && gauge.backlog.length < target) push(60)
                check()
                await readTo(Math.min(gauge.backlog.length, Math.floor((step.drain / 64) * maxQueued)))
              }
              check()
            }
          },
        ),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
