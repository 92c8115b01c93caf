import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventBus, type Frame, type Subscription } from '../../src/index.ts'
import { type BusOptions, publishBytes } from '../support/bus.ts'
import { type Cursor, Ledger } from '../support/ledger.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

type Cut = 'return' | 'throw' | 'abort'

interface ClientPlan {
  start: 'live' | 'earliest' | 'from 0'
  maxQueued: number
  maxQueuedBytes: number
  /** Turns that pass before each read: a slow client. */
  pace: number
  batches: boolean
  /** The nth stream is cut after that many frames. */
  cuts: { after: number; how: Cut }[]
}

type Step =
  | { do: 'publish'; sizes: number[] }
  | { do: 'spark' }
  | { do: 'refused' }
  | { do: 'restart'; drain: boolean }

interface Plan {
  bus: BusOptions
  steps: Step[]
  clients: ClientPlan[]
}

const plans: fc.Arbitrary<Plan> = fc.record({
  bus: fc.record({
    ringSize: fc.integer({ min: 0, max: 8 }),
    maxRingBytes: fc.constantFrom(200, 500, 2000),
  }),
  steps: fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('publish' as const),
          sizes: fc.array(fc.integer({ min: 60, max: 300 }), { minLength: 1, maxLength: 5 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('spark' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('refused' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), drain: fc.boolean() }) },
    ),
    { maxLength: 25 },
  ),
  clients: fc.array(
    fc.record({
      start: fc.constantFrom('live' as const, 'earliest' as const, 'from 0' as const),
      maxQueued: fc.integer({ min: 1, max: 5 }),
      maxQueuedBytes: fc.constantFrom(150, 400, Number.POSITIVE_INFINITY),
      pace: fc.integer({ min: 0, max: 4 }),
      batches: fc.boolean(),
      cuts: fc.array(
        fc.record({
          after: fc.integer({ min: 0, max: 6 }),
          how: fc.constantFrom('return' as const, 'throw' as const, 'abort' as const),
        }),
        { maxLength: 4 },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

/** The bus of the moment: a restart puts another in its place. */
class World {
  readonly #options: BusOptions
  #incarnation = 0
  bus: EventBus
  finished = false

  constructor(options: BusOptions) {
    this.#options = options
    this.bus = this.#next()
  }

  #next(): EventBus {
    const bus: EventBus = new EventBus({ ...this.#options, epoch: `epoch-${++this.#incarnation}` })
    // Publishes from inside the fan-out.
    bus.subscribe({
      filter: (event) => {
        if (event.type === 'spark') bus.publish({ type: 'echo' })
        return false
      },
    })
    return bus
  }

  restart(drain: boolean): void {
    const before = this.bus
    this.bus = this.#next()
    before.close({ drain })
  }

  finish(): void {
    this.finished = true
    this.bus.end()
  }
}

type Turn = () => Promise<unknown>

async function publisher(world: World, steps: Step[], turn: Turn): Promise<void> {
  for (const step of steps) {
    await turn()
    if (step.do === 'publish') for (const size of step.sizes) publishBytes(world.bus, size)
    else if (step.do === 'spark') world.bus.publish({ type: 'spark' })
    else if (step.do === 'refused') expect(world.bus.publish({ type: 'cursor' } as never)).toBeUndefined()
    else world.restart(step.drain)
  }
  await turn()
  world.finish()
}

/** Reads until the stream is cut, by itself or by the plan. True when it ended with nothing left to come. */
async function readStream(
  plan: ClientPlan,
  subscription: Subscription,
  controller: AbortController,
  cut: { after: number; how: Cut } | undefined,
  enter: (frame: Frame) => void,
  turn: Turn,
): Promise<void> {
  const batches = subscription.batches()
  let left = cut?.after ?? Number.POSITIVE_INFINITY
  for (;;) {
    for (let i = 0; i < plan.pace; i++) await turn()
    if (left <= 0) {
      if (cut?.how === 'abort') controller.abort()
      else if (cut?.how === 'throw') await subscription.throw(new Error('cut')).catch(() => {})
      else await subscription.return()
      return
    }
    const result = plan.batches ? await batches.next() : await subscription.next()
    if (result.done === true) return
    const frames = plan.batches ? (result.value as Frame[]) : [result.value as Frame]
    for (const frame of frames) enter(frame)
    left -= frames.length
  }
}

async function client(world: World, plan: ClientPlan, turn: Turn): Promise<void> {
  let ledger: Ledger | undefined
  for (let stream = 0; ; stream++) {
    await turn()
    const { bus, finished } = world
    const controller = new AbortController()
    const common = {
      signal: controller.signal,
      maxQueued: plan.maxQueued,
      maxQueuedBytes: plan.maxQueuedBytes,
    }
    const cursor: Cursor | undefined = ledger?.cursor
    if (ledger === undefined) {
      const first = { live: bus.lastEventId + 1, earliest: bus.earliestAvailableId, 'from 0': 1 }[plan.start]
      ledger = new Ledger(bus.epoch, first)
    }
    const books = ledger
    const start = { live: {}, earliest: { from: 'earliest' as const }, 'from 0': { lastEventId: 0 } }[
      plan.start
    ]
    books.opened({ replay: cursor !== undefined || plan.start !== 'live' })
    const subscription = bus.subscribe({ ...common, ...(cursor ?? start) })
    const cut = plan.cuts[stream]
    await readStream(plan, subscription, controller, cut, (frame) => books.enter(frame), turn)
    expect(await subscription.next()).toEqual({ value: undefined, done: true })
    expect(subscription.queued).toBe(0)
    if (finished && cut === undefined && bus === world.bus) {
      books.close(bus.epoch, bus.lastEventId)
      return
    }
  }
}

describe('conservation', () => {
  it(
    'received and reported lost are all that was published, each once and in order, in any interleaving',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.scheduler(), plans, async (scheduler, plan) => {
          const world = new World(plan.bus)
          const turnOf = (name: string) => () => scheduler.schedule(Promise.resolve(), name)
          await scheduler.waitFor(
            Promise.all([
              publisher(world, plan.steps, turnOf('publisher')),
              ...plan.clients.map((plan, i) => client(world, plan, turnOf(`client ${i}`))),
            ]),
          )
          expect(world.bus.stats().subscribers.filter((subscriber) => subscriber.queued > 0)).toEqual([])
        }),
        runs(150),
      )
    },
    PROPERTY_TIMEOUT,
  )
})

describe('the ledger notices', () => {
  const event = (id: number): Frame => ({ id, v: 1, type: 'tick', data: id })
  const control = (type: string, data: object) => ({ v: 1, type, data }) as unknown as Frame
  const opened = (replay: boolean) => {
    const ledger = new Ledger('e', 1)
    ledger.opened({ replay })
    return ledger
  }

  it.each([
    ['an event that is missing', [event(1), event(3)]],
    ['an event that comes twice', [event(1), event(1)]],
    ['events out of order', [event(2), event(1)]],
    ['an eviction that leaves a gap', [event(1), control('client_evicted', { droppedAfter: 2 })]],
    ['a replay_complete in a live stream', [control('replay_complete', { replayedCount: 0 })]],
  ])('%s', (_name, frames) => {
    const ledger = opened(false)
    expect(() => {
      for (const frame of frames) ledger.enter(frame)
    }).toThrow()
  })

  it.each([
    ['a miscounted replay', [event(1), control('replay_complete', { replayedCount: 2 })]],
    [
      'a gap that is none',
      [
        control('state_resync_required', {
          reason: 'ring_evicted',
          lastDeliveredId: 0,
          earliestAvailableId: 1,
          epoch: 'e',
        }),
      ],
    ],
    [
      'a reset into the same epoch',
      [
        control('state_resync_required', {
          reason: 'epoch_reset',
          lastDeliveredId: 0,
          earliestAvailableId: 5,
          epoch: 'e',
        }),
      ],
    ],
    [
      'a second resync frame',
      [2, 3].map((earliestAvailableId) =>
        control('state_resync_required', {
          reason: 'ring_evicted',
          lastDeliveredId: earliestAvailableId - 2,
          earliestAvailableId,
          epoch: 'other',
        }),
      ),
    ],
  ])('%s in a resumed stream', (_name, frames) => {
    const ledger = opened(true)
    expect(() => {
      for (const frame of frames) ledger.enter(frame)
    }).toThrow()
  })

  it('events that never came', () => {
    const ledger = opened(false)
    ledger.enter(event(1))
    expect(() => ledger.close('e', 1)).not.toThrow()
    expect(() => ledger.close('e', 2)).toThrow('2 published, 1 accounted for')
    expect(() => ledger.close('other', 1)).toThrow('epoch')
  })
})
