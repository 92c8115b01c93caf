import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventBus, type Frame, type Subscription } from '../../src/index.ts'
import { abortListeners, publishBytes } from '../support/bus.ts'
import { DONE, EPOCH, type Notation, notationOf } from '../support/frames.ts'
import {
  NaiveBus,
  type NaiveOptions,
  type NaiveSubscribe,
  type NaiveSubscription,
} from '../support/naive-bus.ts'
import { flush } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

type Cursor =
  | { kind: 'live' }
  | { kind: 'cursor'; behind: number; epoch: 'none' | 'right' | 'foreign' }
  | { kind: 'earliest' }
  | { kind: 'last'; last: number }

interface Subscribe {
  do: 'subscribe'
  cursor: Cursor
  maxQueued: number
  maxQueuedBytes: number
  refuses: 'nothing' | 'even' | 'all'
  warnings: boolean
}

type Step =
  | { do: 'publish'; size: number; times: number }
  | { do: 'refused' }
  | Subscribe
  | { do: 'next' | 'nextBatch' | 'return' | 'throw' | 'abort'; which: number; times: number }
  | { do: 'end' }
  | { do: 'close'; drain: boolean }

const cursors: fc.Arbitrary<Cursor> = fc.oneof(
  fc.record({ kind: fc.constant('live' as const) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('cursor' as const),
      behind: fc.integer({ min: -2, max: 12 }),
      epoch: fc.constantFrom('none' as const, 'right' as const, 'foreign' as const),
    }),
  },
  fc.record({ kind: fc.constant('earliest' as const) }),
  fc.record({ kind: fc.constant('last' as const), last: fc.integer({ min: 0, max: 10 }) }),
)

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('publish' as const),
        size: fc.integer({ min: 60, max: 300 }),
        times: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('refused' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('subscribe' as const),
        cursor: cursors,
        maxQueued: fc.integer({ min: 1, max: 9 }),
        maxQueuedBytes: fc.constantFrom(200, 500, 1000, Number.POSITIVE_INFINITY),
        refuses: fc.constantFrom('nothing' as const, 'nothing' as const, 'even' as const, 'all' as const),
        warnings: fc.boolean(),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constantFrom('next' as const, 'next' as const, 'nextBatch' as const),
        which: fc.nat(7),
        times: fc.integer({ min: 1, max: 6 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom('return' as const, 'throw' as const, 'abort' as const),
        which: fc.nat(7),
        times: fc.constant(1),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), drain: fc.boolean() }) },
  ),
  { maxLength: 40 },
)

/** One subscription of the real bus beside the same one of the naive bus. */
interface Pair {
  real: Subscription
  naive: NaiveSubscription
  controller: AbortController
  read: Notation[]
}

class Both {
  readonly real: EventBus
  readonly naive: NaiveBus
  readonly pairs: Pair[] = []
  #mute = false

  constructor(options: NaiveOptions) {
    this.real = new EventBus({ ...options, epoch: EPOCH })
    this.naive = new NaiveBus(options)
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'publish') this.#publish(step.size, step.times)
    else if (step.do === 'refused') this.#refused()
    else if (step.do === 'subscribe') this.#subscribe(step)
    else if (step.do === 'end') {
      this.real.end()
      this.naive.end()
    } else if (step.do === 'close') this.#close(step.drain)
    else {
      const pair = this.pairs[step.which % Math.max(1, this.pairs.length)]
      for (let i = 0; pair !== undefined && i < step.times; i++) this.#act(step.do, pair)
    }
    await flush()
    this.#compare()
  }

  #publish(size: number, times: number): void {
    for (let i = 0; i < times; i++) {
      if (this.naive.ended) expect(this.real.publish({ type: 'late' })).toBeUndefined()
      else publishBytes(this.real, size)
      this.naive.publish(size)
    }
  }

  #refused(): void {
    expect(this.real.publish({ type: 'unserialisable', data: 1n })).toBeUndefined()
    if (!this.naive.ended) this.naive.stats.rejected++
  }

  #close(drain: boolean): void {
    if (this.naive.closed) return
    this.real.close({ drain })
    this.naive.close(
      drain,
      this.pairs.map((pair) => pair.naive),
    )
  }

  #subscribe({ cursor, maxQueued, maxQueuedBytes, refuses, warnings }: Subscribe): void {
    const options: NaiveSubscribe = {
      maxQueued,
      maxQueuedBytes,
      warnings,
      filter: (id) => refuses === 'nothing' || (refuses === 'even' && id % 2 === 1),
    }
    if (cursor.kind === 'earliest') options.from = 'earliest'
    else if (cursor.kind === 'last') options.from = { last: cursor.last }
    else if (cursor.kind === 'cursor') {
      options.lastEventId = Math.max(0, this.naive.lastEventId - cursor.behind)
      if (cursor.epoch !== 'none') options.epoch = cursor.epoch === 'right' ? EPOCH : 'foreign'
    }
    if (!warnings) this.#mute = true
    const controller = new AbortController()
    const real = this.real.subscribe({
      ...options,
      signal: controller.signal,
      filter: (event) => options.filter(event.id),
    })
    this.pairs.push({ real, naive: this.naive.subscribe(options), controller, read: [] })
  }

  #act(what: 'next' | 'nextBatch' | 'return' | 'throw' | 'abort', pair: Pair): void {
    const { real, naive, controller, read } = pair
    const note = (frames: Frame[] | undefined) => read.push(...(frames?.map(notationOf) ?? [DONE]))
    if (what === 'next') {
      void real.next().then((result) => note(result.done === true ? undefined : [result.value]))
      naive.next()
    } else if (what === 'nextBatch') {
      void real
        .batches()
        .next()
        .then((result) => note(result.value))
      naive.nextBatch()
    } else {
      if (what === 'return') void real.return()
      else if (what === 'throw') real.throw(new Error('cut')).catch(() => {})
      else controller.abort()
      naive.close(false)
      this.naive.remove(naive)
    }
  }

  #compare(): void {
    const { real, naive } = this
    const open = naive.subscribers.map((subscriber) => ({
      queued: subscriber.queued,
      queuedBytes: subscriber.queuedBytes,
      maxQueued: subscriber.options.maxQueued,
      lastDeliveredId: subscriber.lastDeliveredId,
      replaying: subscriber.replayUnread,
    }))
    const { warned, ...counts } = naive.stats
    expect(real.stats()).toMatchObject({
      ...counts,
      ...(this.#mute ? {} : { warned }),
      lastEventId: naive.lastEventId,
      ...(naive.closed
        ? {}
        : {
            earliestAvailableId: naive.earliestAvailableId,
            ringEvents: naive.ring.length,
            ringBytes: naive.ringBytes,
          }),
    })
    if (!naive.ended) {
      expect(real.stats().subscribers).toEqual(open)
      expect(real.subscriberCount).toBe(open.length)
    }
    for (const pair of this.pairs) this.#comparePair(pair)
  }

  #comparePair({ real, naive, controller, read }: Pair): void {
    expect(read).toEqual(naive.read)
    expect(real.closed).toBe(naive.closed)
    expect(real.lastDeliveredId).toBe(naive.lastDeliveredId)
    expect(abortListeners(controller.signal)).toBe(this.naive.subscribers.includes(naive) ? 1 : 0)
    // An evicted or draining stream hears of an abort when it is read next.
    if (controller.signal.aborted || this.naive.closed) return
    expect([real.queued, real.queuedBytes]).toEqual([naive.queued, naive.queuedBytes])
    if (naive.position !== undefined) expect(real.position).toBe(naive.position)
  }
}

describe('the bus', () => {
  it(
    'does what the naive bus does, whatever is done to it',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            ringSize: fc.integer({ min: 0, max: 9 }),
            maxRingBytes: fc.constantFrom(100, 400, 1000, 3000),
          }),
          steps,
          async (options, steps) => {
            const both = new Both(options)
            for (const step of steps) await both.run(step)
            // What is left to read is read to its end.
            await both.run({ do: 'end' })
            for (let which = 0; which < both.pairs.length; which++) {
              await both.run({ do: 'nextBatch', which, times: 2 })
              await both.run({ do: 'next', which, times: 1 })
            }
            expect(both.real.subscriberCount).toBe(0)
            for (const { real } of both.pairs) expect([real.queued, real.queuedBytes]).toEqual([0, 0])
          },
        ),
        runs(200),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
