import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { busWith, publish, publishBytes, sizeOf } from '../support/bus.ts'
import { complete, resync } from '../support/frames.ts'
import { framesOf, take } from '../support/reading.ts'

const capped = (maxRingBytes = 1_000_000) => new EventBus({ maxRingBytes })

/** The bytes by which one event makes the ring grow. */
function measured(input: { type: string; data?: unknown; [extra: string]: unknown }) {
  const bus = capped()
  const event = bus.publish(input)
  if (event === undefined) throw new Error('refused')
  return { bytes: bus.stats().ringBytes, event }
}

describe("an event's size is the UTF-8 bytes of its envelope as JSON", () => {
  it('for a plain event', () => {
    const { bytes } = measured({ type: 'a', data: { n: 1 } })
    expect(bytes).toBe('{"id":1,"v":1,"type":"a","data":{"n":1}}'.length)
  })

  it.each([
    ['two-byte text', 'äöüß'],
    ['three-byte text', '€中文'],
    ['four-byte text', '😀👩‍👩‍👧'],
    ['all of them', 'aä€😀'],
    ['a lone high surrogate', 'x\ud800y'],
    ['a lone low surrogate', 'x\udc00y'],
    ['surrogates in the wrong order', '\udc00\ud800'],
    ['control characters and quotes', '"\\\n\r\t\0\u0007'],
    ['line separators', '\u2028\u2029'],
    ['the edges of each length', '\u007f\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}'],
    ['an empty string', ''],
    ['null', null],
    ['nested data', { a: [1, 'ü', { b: null, c: undefined }], d: new Date(0) }],
  ])('with data: %s', (_name, data) => {
    const { bytes, event } = measured({ type: 'a', data })
    expect(bytes).toBe(sizeOf(event))
  })

  it('with every other key, and a type that is not ASCII', () => {
    const { bytes, event } = measured({
      type: 'größe',
      data: '€',
      originatorClientId: 'ö',
      system: '系统',
      path: 'a.ü.😀',
      _meta: { trace: 'ß', n: [1] },
      'schlüssel"': 'wert',
      list: ['ä'],
    })
    expect(bytes).toBe(sizeOf(event))
  })

  it('with ids of any length', () => {
    const bus = new EventBus({ startAfterId: 999_998, maxRingBytes: 10_000 })
    const events = [bus.publish({ type: 'a' }), bus.publish({ type: 'a' })]
    expect(bus.stats().ringBytes).toBe(events.reduce((sum, event) => sum + sizeOf(event ?? {}), 0))
  })

  it('where JSON gives nothing for a further key, without that key', () => {
    const { bytes } = measured({ type: 'a', data: 1, fn: () => 1 })
    expect(bytes).toBe('{"id":1,"v":1,"type":"a","data":1}'.length)
  })

  it('the same in the ring and in every queue', () => {
    const bus = capped()
    const subscriptions = [bus.subscribe(), bus.subscribe({ maxQueuedBytes: 5000 })]
    bus.publish({ type: 'a', data: 'ä€😀' })
    for (const subscription of subscriptions) expect(subscription.queuedBytes).toBe(bus.stats().ringBytes)
  })
})

describe('maxRingBytes', () => {
  it('bounds what is retained at all times', () => {
    const bus = capped(1000)
    for (let i = 0; i < 500; i++) {
      bus.publish({ type: 'a', data: 'x'.repeat((i * 37) % 400) })
      expect(bus.stats().ringBytes).toBeLessThanOrEqual(1000)
      expect(bus.stats().ringEvents).toBe(bus.lastEventId - bus.earliestAvailableId + 1)
    }
  })

  it('retains an event exactly as large as the cap, alone', async () => {
    const bus = capped(100)
    publishBytes(bus, 60)
    publishBytes(bus, 100)
    expect([bus.stats().ringEvents, bus.stats().ringBytes, bus.earliestAvailableId]).toEqual([1, 100, 2])
    expect(await framesOf(bus.subscribe({ lastEventId: 1 }))).toEqual([2, complete(1, 2)])
  })

  it('delivers a larger event live, and empties the ring: what is left is always a contiguous suffix', async () => {
    const bus = busWith(0, { maxRingBytes: 200 })
    const live = bus.subscribe()
    publishBytes(bus, 60)
    publishBytes(bus, 201)
    expect(bus.stats()).toMatchObject({ ringEvents: 0, ringBytes: 0, earliestAvailableId: 3, lastEventId: 2 })
    publishBytes(bus, 60)
    expect(await take(live, 3)).toEqual([1, 2, 3])
    expect(bus.stats()).toMatchObject({ ringEvents: 1, ringBytes: 60, earliestAvailableId: 3 })
    expect(await framesOf(bus.subscribe({ lastEventId: 1 }))).toEqual([
      resync('ring_evicted', 1, 3),
      3,
      complete(1, 3),
    ])
    expect(await framesOf(bus.subscribe({ lastEventId: 2 }))).toEqual([3, complete(1, 3)])
  })

  it('keeps payload-sized events within a mebibyte', () => {
    const bus = new EventBus({ ringSize: 1000, maxRingBytes: 1_048_576 })
    for (let i = 0; i < 100; i++) bus.publish({ type: 'a', data: 'x'.repeat(65_536) })
    expect(bus.stats().ringBytes).toBeLessThanOrEqual(1_048_576)
    expect(bus.stats().ringEvents).toBe(15)
    bus.publish({ type: 'a', data: 'x'.repeat(2_097_152) })
    expect(bus.stats()).toMatchObject({ ringEvents: 0, ringBytes: 0, earliestAvailableId: 102 })
  })
})

describe('ringSize', () => {
  it('bounds the count: the last ones are kept', () => {
    const bus = busWith(10, { ringSize: 4 })
    expect(bus.stats()).toMatchObject({ ringEvents: 4, earliestAvailableId: 7, lastEventId: 10 })
  })

  it('is 8000 by default', () => {
    const bus = busWith(8000)
    expect(bus.earliestAvailableId).toBe(1)
    publish(bus, 1)
    expect(bus.stats()).toMatchObject({ ringEvents: 8000, earliestAvailableId: 2 })
  })

  it('0 keeps none', () => {
    for (const options of [{ ringSize: 0 }, { ringSize: 0, maxRingBytes: 250 }]) {
      const figures = { ringEvents: 0, ringBytes: 0, earliestAvailableId: 4 }
      expect(busWith(3, options).stats()).toMatchObject(figures)
    }
  })

  it('above 1,000,000 is lowered to that', { timeout: 60_000 }, () => {
    const bus = new EventBus({ ringSize: 2_000_000 })
    const event = { type: 'a' }
    for (let i = 0; i < 1_000_001; i++) bus.publish(event)
    expect(bus.stats()).toMatchObject({ ringEvents: 1_000_000, earliestAvailableId: 2 })
  })
})
