import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { createEventStore, isUnknown, note, replay, storeNotes } from '../support/mcp.ts'
import { shown } from '../support/shown.ts'

const create = (options: unknown) => () => createEventStore(options as never)
const onBus = (options: object) => ({ bus: new EventBus(), namespace: 'n', ...options })

describe('createEventStore', () => {
  it.each(
    shown([
      null,
      'memory',
      { ringSize: '8000' },
      { ringSize: null },
      { maxBytes: null },
      { maxBytes: 1n },
      { ttlMs: null },
      { ttlMs: '1000' },
      { namespace: null },
      { namespace: 7 },
      { bus: null, namespace: 'n' },
      { bus: {}, namespace: 'n' },
      { bus: { subscribe() {} }, namespace: 'n' },
      { bus: { publish() {} }, namespace: 'n' },
      { bus: new EventBus() },
      onBus({ namespace: null }),
      onBus({ ringSize: 8000 }),
      onBus({ maxBytes: 16_777_216 }),
      onBus({ ttlMs: 0 }),
    ]),
  )('refuses %s with a TypeError that names the option', (_, options) => {
    expect(create(options)).toThrow(TypeError)
    expect(create(options)).toThrow(/^(options|ringSize|maxBytes|ttlMs|namespace|bus) must be /)
  })

  it.each(
    shown([
      { ringSize: -1 },
      { ringSize: 1.5 },
      { ringSize: NaN },
      { maxBytes: 0 },
      { maxBytes: NaN },
      { maxBytes: 0.5 },
      { ttlMs: -1 },
      { ttlMs: NaN },
      { ttlMs: 1.5 },
      { namespace: '' },
      onBus({ namespace: '' }),
    ]),
  )('refuses %s with a RangeError that names the option', (_, options) => {
    expect(create(options)).toThrow(RangeError)
    expect(create(options)).toThrow(/^(ringSize|maxBytes|ttlMs|namespace) must /)
  })

  it('says which option a bus has no use for', () => {
    expect(create(onBus({ ttlMs: 1 }))).toThrow(/^ttlMs must be left out beside bus/)
  })

  it('takes no secret into its messages', () => {
    expect(create({ namespace: { secret: 'secret' } })).not.toThrow(/secret/)
    expect(create(onBus({ ringSize: 'secret' }))).not.toThrow(/secret/)
  })

  it('takes undefined for left out', async () => {
    const nothing = { ringSize: undefined, maxBytes: undefined, ttlMs: undefined }
    for (const options of [undefined, { ...nothing, namespace: undefined, bus: undefined }, onBus(nothing)]) {
      const store = createEventStore(options as never)
      const [id = ''] = await storeNotes(store, 's', 1, 2)
      expect((await replay(store, id)).notes).toEqual([2])
    }
  })

  it('takes caps that are none', async () => {
    const store = createEventStore({ ringSize: Infinity, maxBytes: Infinity, ttlMs: Infinity })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    expect((await replay(store, id)).notes).toEqual([2])
    await expect(store.storeEvent('s', { n: 1n })).rejects.toMatchObject({ code: 'event_rejected' })
  })

  it('carries the namespace in the ids, whatever it is', async () => {
    const [id = ''] = await storeNotes(createEventStore({ namespace: 'session-1' }), 's', 1)
    expect(id).toMatch(/^session-1:/)
    const [other = ''] = await storeNotes(createEventStore({ namespace: '\ud800:\n' }), 's', 1)
    expect(other).toMatch(/^[!-~]+$/)
  })

  it('gives each store a namespace that nobody else has', async () => {
    const namespaces = new Set<unknown>()
    for (let n = 0; n < 100; n++) {
      const id = await createEventStore().storeEvent('s', note(n))
      namespaces.add(id.split(':')[0])
    }
    expect(namespaces.size).toBe(100)
  })
})

describe('two sessions with the same names of streams', () => {
  const both = async (stores: [ReturnType<typeof createEventStore>, ReturnType<typeof createEventStore>]) => {
    const [one, other] = stores
    const [first = ''] = await storeNotes(one, '_GET_stream', 1)
    const [second = ''] = await storeNotes(other, '_GET_stream', 2)
    await Promise.all([storeNotes(one, '_GET_stream', 11, 12), storeNotes(other, '_GET_stream', 21, 22)])
    expect((await replay(one, first)).notes).toEqual([11, 12])
    expect((await replay(other, second)).notes).toEqual([21, 22])
    expect(await isUnknown(one, second)).toBe(true)
    expect(await isUnknown(other, first)).toBe(true)
  }

  it('share nothing, with a store each', () => both([createEventStore(), createEventStore()]))

  it('share nothing but the ring, with a namespace each on one bus', async () => {
    const bus = new EventBus()
    await both([createEventStore({ bus, namespace: 'a' }), createEventStore({ bus, namespace: 'b' })])
    expect(bus.lastEventId).toBe(6)
  })

  it('share nothing with whoever else publishes on the bus', async () => {
    const bus = new EventBus()
    const store = createEventStore({ bus, namespace: 'a' })
    const [id = ''] = await storeNotes(store, 's', 1)
    bus.publish({ type: 'chunk', data: { stream: 's' }, stream: 's', namespace: 'a' })
    bus.publish({ type: 'mcp_message', data: note(0), stream: 's' })
    await storeNotes(store, 's', 2)
    expect((await replay(store, id)).notes).toEqual([2])
    expect(await isUnknown(store, id.replace(/1$/, '2'))).toBe(true)
  })
})
