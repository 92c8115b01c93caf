import { describe, expect, it } from 'vitest'
import { EVENT_SCHEMA_VERSION, EventBus, isControlFrame } from '../../src/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { EPOCH } from '../support/frames.ts'
import { rawFramesOf, take, takeRaw } from '../support/reading.ts'

describe('the envelope of an event', () => {
  it('carries an id, the schema version, the type and the data', () => {
    const event = new EventBus().publish({ type: 'greeting', data: { text: 'hello' } })
    expect(event).toStrictEqual({ id: 1, v: 1, type: 'greeting', data: { text: 'hello' } })
    expect(EVENT_SCHEMA_VERSION).toBe(1)
  })

  it('carries addressing, originator and metadata where they are given', () => {
    const input = {
      type: 'a',
      data: 1,
      originatorClientId: 'client-1',
      system: 'fs',
      path: 'a.b',
      _meta: { trace: 'x' },
    }
    expect(new EventBus().publish(input)).toStrictEqual({ id: 1, v: 1, ...input })
  })

  it('keeps any further key behind the named ones, in whatever order they were given', () => {
    const event = new EventBus().publish({
      zebra: 1,
      _meta: {},
      path: 'p',
      apple: 2,
      data: 0,
      system: 's',
      originatorClientId: 'c',
      type: 'a',
    })
    expect(Object.keys(event ?? {})).toEqual([
      'id',
      'v',
      'type',
      'data',
      'originatorClientId',
      'system',
      'path',
      '_meta',
      'zebra',
      'apple',
    ])
  })

  it('leaves out keys whose value is undefined', () => {
    const event = new EventBus().publish({
      type: 'a',
      data: 1,
      originatorClientId: undefined,
      system: undefined,
      path: undefined,
      _meta: undefined,
      extra: undefined,
    })
    expect(Object.keys(event ?? {})).toEqual(['id', 'v', 'type', 'data'])
  })

  it('keeps keys whose value is null, false, zero or empty', () => {
    const event = new EventBus().publish({ type: 'a', data: null, none: null, no: false, zero: 0, empty: '' })
    expect(event).toStrictEqual({
      id: 1,
      v: 1,
      type: 'a',
      data: null,
      none: null,
      no: false,
      zero: 0,
      empty: '',
    })
  })

  it('may come without data', () => {
    expect(new EventBus().publish({ type: 'done' })).toMatchObject({ id: 1, v: 1, type: 'done' })
    expect(new EventBus().publish({ type: 'done' })?.data).toBeUndefined()
  })

  it('has its own id and version, whatever the publisher claims', () => {
    expect(new EventBus().publish({ type: 'a', data: 1, id: 77, v: 9 } as never)).toStrictEqual({
      id: 1,
      v: 1,
      type: 'a',
      data: 1,
    })
  })

  it('is frozen', () => {
    const event = new EventBus().publish({ type: 'a', data: { x: 1 }, extra: 1 })
    expect(Object.isFrozen(event)).toBe(true)
    expect(() => Object.assign(event as object, { id: 5 })).toThrow(TypeError)
  })

  it('is one object for the publisher and every subscriber', async () => {
    const bus = new EventBus()
    const [a, b] = [bus.subscribe(), bus.subscribe()]
    const event = bus.publish({ type: 'a', data: {} })
    expect((await takeRaw(a, 1))[0]).toBe(event)
    expect((await takeRaw(b, 1))[0]).toBe(event)
    expect((await takeRaw(bus.subscribe({ lastEventId: 0 }), 1))[0]).toBe(event)
  })

  it('does not follow what the publisher does to its input afterwards', () => {
    const bus = new EventBus()
    const input: { type: string; data: number; extra?: number } = { type: 'a', data: 1 }
    const event = bus.publish(input)
    input.type = 'b'
    input.data = 2
    input.extra = 3
    expect(event).toStrictEqual({ id: 1, v: 1, type: 'a', data: 1 })
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a.__proto__.b'])(
    'may be of type %j, which is an ordinary name',
    async (type) => {
      const bus = new EventBus()
      const subscription = bus.subscribe()
      bus.publish({ type, data: 1 })
      expect(await takeRaw(subscription, 1)).toEqual([{ id: 1, v: 1, type, data: 1 }])
    },
  )

  it('takes a key named __proto__ for an ordinary key', () => {
    const input = JSON.parse('{"type":"a","data":1,"__proto__":{"polluted":true}}')
    const event = new EventBus().publish(input) as object
    expect(Object.getPrototypeOf(event)).toBe(Object.prototype)
    expect((event as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.getOwnPropertyDescriptor(event, '__proto__')?.value).toEqual({ polluted: true })
  })

  it('keeps keys named like members of objects', () => {
    const event = new EventBus().publish({
      type: 'a',
      data: 1,
      constructor: 'c',
      toString: 's',
      valueOf: 'v',
    })
    expect({ ...event }).toEqual({
      id: 1,
      v: 1,
      type: 'a',
      data: 1,
      constructor: 'c',
      toString: 's',
      valueOf: 'v',
    })
  })
})

describe('ids', () => {
  it('run 1, 2, 3 … on each bus', () => {
    expect(publish(new EventBus(), 4)).toEqual([1, 2, 3, 4])
    expect(publish(new EventBus(), 2)).toEqual([1, 2])
  })

  it('go on from startAfterId', () => {
    const bus = new EventBus({ startAfterId: 100 })
    expect(bus.lastEventId).toBe(100)
    expect(bus.earliestAvailableId).toBe(101)
    expect(publish(bus, 2)).toEqual([101, 102])
    expect(bus.earliestAvailableId).toBe(101)
  })

  it('are shown by the bus: the last one, and the first one that is left', () => {
    const bus = new EventBus({ ringSize: 2 })
    expect([bus.earliestAvailableId, bus.lastEventId]).toEqual([1, 0])
    publish(bus, 2)
    expect([bus.earliestAvailableId, bus.lastEventId]).toEqual([1, 2])
    publish(bus, 3)
    expect([bus.earliestAvailableId, bus.lastEventId]).toEqual([4, 5])
  })
})

describe('control frames', () => {
  async function everyControlFrame() {
    const bus = busWith(3, { ringSize: 1 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
    publish(bus, 2)
    const frames = await rawFramesOf(subscription)
    return frames.filter(isControlFrame)
  }

  it('have the envelope of events without the id key', async () => {
    const frames = await everyControlFrame()
    expect(frames.map((frame) => frame.type)).toEqual([
      'state_resync_required',
      'replay_complete',
      'slow_client_warning',
      'client_evicted',
    ])
    for (const frame of frames) expect(Object.keys(frame)).toEqual(['v', 'type', 'data'])
    for (const frame of frames) expect(frame.v).toBe(1)
  })

  it('are frozen like events', async () => {
    for (const frame of await everyControlFrame()) expect(Object.isFrozen(frame)).toBe(true)
  })

  it('use no id: other subscribers see contiguous ids', async () => {
    const bus = busWith(0)
    const slow = bus.subscribe({ maxQueued: 1 })
    const other = bus.subscribe()
    publish(bus, 3)
    expect(await take(other, 3)).toEqual([1, 2, 3])
    expect(slow.closed).toBe(true)
  })

  it('do not move the cursor of a subscription', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1 })
    publish(bus, 2)
    await take(subscription, 1)
    expect([subscription.lastDeliveredId, subscription.epoch]).toEqual([1, EPOCH])
    await take(subscription, 2)
    expect([subscription.lastDeliveredId, subscription.epoch]).toEqual([1, EPOCH])
  })

  it('are told from events by isControlFrame', () => {
    for (const type of [
      'slow_client_warning',
      'client_evicted',
      'state_resync_required',
      'replay_complete',
      'stream_error',
    ]) {
      expect(isControlFrame({ v: 1, type, data: {} } as never)).toBe(true)
    }
    expect(isControlFrame({ id: 1, v: 1, type: 'tick', data: 1 } as never)).toBe(false)
    expect(isControlFrame({ id: 1, v: 1, type: 'client_evicted', data: 1 } as never)).toBe(false)
    expect(isControlFrame({ v: 1, type: 'tick', data: 1 } as never)).toBe(false)
  })
})
