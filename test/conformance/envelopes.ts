import { expect, it } from 'vitest'
import type { PublishInput } from '../../src/index.ts'
import { nextFrame, publishEvent, type World } from './world.ts'

export function envelopes({ open }: World): void {
  /** The event as its publisher, a live subscriber and a resumed one have it. */
  async function seen(input: PublishInput) {
    const { bus } = await open()
    const live = bus.subscribe()
    const published = await publishEvent(bus, input)
    return {
      published,
      live: await nextFrame(live),
      replayed: await nextFrame(bus.subscribe({ lastEventId: 0 })),
    }
  }

  /** All three have that very envelope, with its keys in that order, frozen. */
  async function expectEnvelope(input: PublishInput, envelope: object) {
    for (const event of Object.values(await seen(input))) {
      expect(event).toEqual(envelope)
      expect(Object.keys(event ?? {})).toEqual(Object.keys(envelope))
      expect(Object.isFrozen(event)).toBe(true)
    }
  }

  it('have an id, the schema version, the type and the data', () =>
    expectEnvelope(
      { type: 'greeting', data: { text: 'hé😀' } },
      {
        id: 1,
        v: 1,
        type: 'greeting',
        data: { text: 'hé😀' },
      },
    ))

  it('have the named keys in their order, and any further key behind them', () =>
    expectEnvelope(
      {
        zebra: [1, null],
        _meta: { trace: 'x' },
        path: 'p',
        apple: { deep: true },
        data: 0,
        system: 's',
        originatorClientId: 'c',
        type: 'a',
      },
      {
        id: 1,
        v: 1,
        type: 'a',
        data: 0,
        originatorClientId: 'c',
        system: 's',
        path: 'p',
        _meta: { trace: 'x' },
        zebra: [1, null],
        apple: { deep: true },
      },
    ))

  it('have no key whose value is undefined', () =>
    expectEnvelope(
      {
        type: 'a',
        data: 1,
        originatorClientId: undefined,
        system: undefined,
        path: undefined,
        _meta: undefined,
        x: undefined,
      },
      { id: 1, v: 1, type: 'a', data: 1 },
    ))

  it('keep keys whose value is null, false, zero or empty', () =>
    expectEnvelope(
      { type: 'a', data: null, none: null, no: false, zero: 0, empty: '' },
      { id: 1, v: 1, type: 'a', data: null, none: null, no: false, zero: 0, empty: '' },
    ))

  it('have their own id and version, whatever the publisher claims', () =>
    expectEnvelope({ type: 'a', data: 1, id: 77, v: 9 }, { id: 1, v: 1, type: 'a', data: 1 }))

  it('keep keys named like members of objects', () =>
    expectEnvelope(
      { type: 'a', data: 1, constructor: 'c', toString: 's', valueOf: 'v' },
      {
        id: 1,
        v: 1,
        type: 'a',
        data: 1,
        constructor: 'c',
        toString: 's',
        valueOf: 'v',
      },
    ))

  it('take a key named __proto__ for an ordinary key', async () => {
    const input = JSON.parse('{"type":"a","data":{"__proto__":1},"__proto__":{"polluted":true}}')
    for (const event of Object.values(await seen(input))) {
      expect(Object.getPrototypeOf(event)).toBe(Object.prototype)
      expect((event as { polluted?: unknown }).polluted).toBeUndefined()
      expect(Object.getOwnPropertyDescriptor(event, '__proto__')?.value).toEqual({ polluted: true })
      expect(Object.keys(event?.data as object)).toEqual(['__proto__'])
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it.each(['__proto__', 'constructor', 'größe 😀', 'a.b', ' '])('may be of type %j', (type) =>
    expectEnvelope({ type, data: 1 }, { id: 1, v: 1, type, data: 1 }),
  )

  it('may come without data', async () => {
    for (const event of Object.values(await seen({ type: 'done' }))) {
      expect(event).toMatchObject({ id: 1, v: 1, type: 'done' })
      expect(event?.data ?? null).toBeNull()
    }
  })

  it('do not follow what the publisher does to its input afterwards', async () => {
    const { bus } = await open()
    const subscription = bus.subscribe()
    const input: PublishInput = { type: 'a', data: 1 }
    const published = bus.publish(input)
    Object.assign(input, { type: 'b', data: 2, extra: 3 })
    const envelope = { id: 1, v: 1, type: 'a', data: 1 }
    expect(await published).toEqual(envelope)
    expect(await nextFrame(subscription)).toEqual(envelope)
  })
}
