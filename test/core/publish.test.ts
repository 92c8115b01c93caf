import { describe, expect, it, vi } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { busWith, observedBus, publish } from '../support/bus.ts'
import { framesOf, isIdle, take } from '../support/reading.ts'

const circular: Record<string, unknown> = {}
circular.self = circular

const throwingGetter = (key: string) => ({
  type: 'a',
  data: 1,
  get [key](): unknown {
    throw new Error(`the getter of ${key}`)
  },
})

/** What JSON cannot carry. */
const unserialisable: [string, unknown][] = [
  ['a BigInt', { n: 1n }],
  ['a circle', circular],
  [
    'a toJSON that throws',
    {
      toJSON() {
        throw new Error('toJSON')
      },
    },
  ],
  ['a getter that throws', throwingGetter('inner')],
]

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({ type: 'a' }, {})
  revoke()
  return proxy
}

const hostileProxy = () =>
  new Proxy(
    { type: 'a', data: 1 },
    {
      ownKeys() {
        throw new Error('ownKeys')
      },
      get() {
        throw new Error('get')
      },
    },
  )

/** What cannot be an event, on any bus, by what is reported of it: its type too, where that was read and is one. */
const refused: Record<string, [title: string, input: unknown, eventType?: string][]> = {
  invalid_input: [
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['a string', 'tick'],
    ['a boolean', true],
    ['a symbol', Symbol('s')],
    ['a BigInt', 1n],
    ['a function, though it has a type', Object.assign(() => 1, { type: 'tick' })],
    ['a getter of type that throws', throwingGetter('type')],
    ['a getter of data that throws', throwingGetter('data')],
    ['a getter of path that throws', throwingGetter('path'), 'a'],
    ['a getter of _meta that throws', throwingGetter('_meta'), 'a'],
    ['a getter of a further key that throws', throwingGetter('extra'), 'a'],
    ['a revoked proxy', revoked()],
    ['a proxy whose traps throw', hostileProxy()],
  ],
  invalid_type: [
    ['an empty object', {}],
    ['an array', ['tick']],
    ['a type that is undefined', { type: undefined }],
    ['a type that is null', { type: null }],
    ['a type that is a number', { type: 5 }],
    ['a type that is a String object', { type: Object('tick') }],
    ['an empty type', { type: '' }],
    ['a type with CR', { type: 'a\rb' }],
    ['a type with LF', { type: 'a\n' }],
    ['a type with NUL', { type: '\0' }],
  ],
  reserved_type: [
    ['the type slow_client_warning', { type: 'slow_client_warning' }, 'slow_client_warning'],
    ['the type client_evicted', { type: 'client_evicted' }, 'client_evicted'],
    ['the type state_resync_required', { type: 'state_resync_required' }, 'state_resync_required'],
    ['the type replay_complete', { type: 'replay_complete' }, 'replay_complete'],
    ['the type stream_error', { type: 'stream_error' }, 'stream_error'],
    ['the type cursor', { type: 'cursor' }, 'cursor'],
  ],
}

const rejections = Object.entries(refused).flatMap(([reason, inputs]) =>
  inputs.map(([title, input, eventType]) => ({ title, input, reason, eventType })),
)

describe('publish', () => {
  it.each(['a', ' ', 'a b', 'ü', 'a.b:c/d', '*', 'message', 'error', 'open', 'cursors', 'Cursor'])(
    'takes the type %j',
    (type) => {
      expect(new EventBus().publish({ type, data: 1 })?.type).toBe(type)
    },
  )

  it.each(rejections)(
    'refuses $title: undefined, no id, no trace, one report',
    async ({ input, reason, eventType }) => {
      const { bus, reports } = observedBus()
      const subscription = bus.subscribe()
      publish(bus, 1)
      expect(bus.publish(input as never)).toBeUndefined()
      expect(reports).toEqual([{ type: 'event_rejected', reason, eventType }])
      expect(bus.stats()).toMatchObject({ published: 1, rejected: 1, lastEventId: 1, ringEvents: 1 })
      expect(publish(bus, 1)).toEqual([2])
      expect(await take(subscription, 2)).toEqual([1, 2])
      expect(await isIdle(subscription)).toBe(true)
      expect(await framesOf(bus.subscribe({ from: 'earliest' }))).toHaveLength(3)
    },
  )

  it.each([
    ['maxRingBytes', { maxRingBytes: 10_000 }],
    ['maxQueuedBytes', { maxQueuedBytes: 10_000 }],
  ])('where %s is set, refuses data that JSON cannot carry', async (_cap, options) => {
    for (const [, data] of unserialisable) {
      const { bus, reports } = observedBus(options)
      const subscription = bus.subscribe()
      const first = bus.publish({ type: 'a', data: 'good' })
      expect(bus.publish({ type: 'bad', data })).toBeUndefined()
      expect(bus.publish({ type: 'bad', data: 1, _meta: { data } })).toBeUndefined()
      expect(bus.publish({ type: 'bad', data: 1, extra: data })).toBeUndefined()
      const second = bus.publish({ type: 'a', data: 'good' })
      expect([first?.id, second?.id]).toEqual([1, 2])
      const rejection = { type: 'event_rejected', reason: 'not_serialisable', eventType: 'bad' }
      expect(reports).toEqual([rejection, rejection, rejection])
      expect(bus.stats()).toMatchObject({ ringEvents: 2, rejected: 3, published: 2 })
      expect(subscription.queued).toBe(2)
      expect(await take(subscription, 2)).toEqual([1, 2])
    }
  })

  it('without a byte cap, takes data that JSON cannot carry: nobody may ever want its JSON', async () => {
    const { bus, reports } = observedBus()
    const subscription = bus.subscribe()
    for (const [, data] of unserialisable) expect(bus.publish({ type: 'a', data })?.data).toBe(data)
    expect(await take(subscription, 4)).toEqual([1, 2, 3, 4])
    expect(reports).toEqual([])
  })

  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a toJSON that gives undefined', { toJSON: () => undefined }],
  ])('takes data for which JSON gives nothing, with a byte cap too: %s', (_name, data) => {
    const bus = new EventBus({ maxRingBytes: 1000 })
    expect(bus.publish({ type: 'a', data })?.id).toBe(1)
    expect(bus.stats().ringBytes).toBe(Buffer.byteLength('{"id":1,"v":1,"type":"a","data":null}'))
  })

  it('gives the last safe id, and then refuses', () => {
    const { bus, reports } = observedBus({ startAfterId: Number.MAX_SAFE_INTEGER - 1 })
    expect(bus.publish({ type: 'a' })?.id).toBe(Number.MAX_SAFE_INTEGER)
    expect(bus.publish({ type: 'a' })).toBeUndefined()
    expect(bus.lastEventId).toBe(Number.MAX_SAFE_INTEGER)
    expect(reports).toEqual([{ type: 'event_rejected', reason: 'ids_exhausted', eventType: 'a' }])
  })

  it.each(['end', 'close'] as const)('after %s() returns undefined, uses no id and is silent', (way) => {
    const { bus, reports } = observedBus()
    publish(bus, 1)
    bus[way]()
    expect(bus.publish({ type: 'a', data: 1 })).toBeUndefined()
    expect(bus.publish(null as never)).toBeUndefined()
    expect(bus.lastEventId).toBe(1)
    expect(bus.stats().published).toBe(1)
    expect(reports).toEqual([])
  })

  it('reads each key once, so that what was checked is what is published', () => {
    let reads = 0
    const shifty = {
      get type() {
        reads++
        return reads === 1 ? 'fine' : 'client_evicted'
      },
      data: 1,
    }
    expect(new EventBus().publish(shifty)?.type).toBe('fine')
    expect(reads).toBe(1)
  })

  it('never waits for a reader, however far one falls behind', () => {
    const bus = new EventBus({ ringSize: 10 })
    for (let i = 0; i < 5; i++) bus.subscribe({ maxQueued: 3 })
    expect(publish(bus, 1000).at(-1)).toBe(1000)
  })

  it('takes an object without a prototype, and one that inherits nothing', () => {
    const input = Object.assign(Object.create(null), { type: 'a', data: 1 })
    expect(new EventBus().publish(input)).toStrictEqual({ id: 1, v: 1, type: 'a', data: 1 })
  })
})

describe('the JSON of an event', () => {
  const counted = () => {
    const toJSON = vi.fn(() => 'json')
    return { toJSON }
  }

  it('is made once, at publish, where bytes are capped', async () => {
    const bus = new EventBus({ maxRingBytes: 1000, maxQueuedBytes: 1000 })
    const subscriptions = [bus.subscribe(), bus.subscribe(), bus.subscribe({ maxQueuedBytes: 500 })]
    const data = counted()
    bus.publish({ type: 'a', data })
    expect(data.toJSON).toHaveBeenCalledTimes(1)
    for (const subscription of subscriptions) await take(subscription, 1)
    await framesOf(bus.subscribe({ lastEventId: 0 }))
    expect(data.toJSON).toHaveBeenCalledTimes(1)
  })

  it('is not made by a bus without a byte cap', async () => {
    const bus = new EventBus()
    const subscription = bus.subscribe()
    const data = counted()
    bus.publish({ type: 'a', data })
    await take(subscription, 1)
    expect(data.toJSON).not.toHaveBeenCalled()
  })
})

describe('a fan-out', () => {
  it('reaches every subscriber, each event once and in order', async () => {
    const bus = busWith(0)
    const subscriptions = Array.from({ length: 20 }, () => bus.subscribe())
    publish(bus, 50)
    for (const subscription of subscriptions) {
      expect(await take(subscription, 50)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
    }
  })

  it('reaches waiting readers, queued ones and batches alike', async () => {
    const bus = busWith(0)
    const waiting = bus.subscribe()
    const next = waiting.next()
    const queued = bus.subscribe()
    const batched = bus.subscribe().batches()[Symbol.asyncIterator]()
    const batch = batched.next()
    bus.publish({ type: 'a', data: 'x' })
    expect((await next).value).toMatchObject({ id: 1, data: 'x' })
    expect(await take(queued, 1)).toEqual([1])
    expect((await batch).value).toMatchObject([{ id: 1, data: 'x' }])
  })
})
