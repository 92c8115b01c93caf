import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { createEventStore, isUnknown, note, numbers, replay, storeNotes } from '../support/mcp.ts'

describe('an id is unknown', () => {
  it('of another store', async () => {
    const [one, other] = [createEventStore(), createEventStore()]
    const [id = ''] = await storeNotes(one, '_GET_stream', 1, 2)
    await storeNotes(other, '_GET_stream', 3, 4)
    expect(await isUnknown(other, id)).toBe(true)
    expect((await replay(one, id)).notes).toEqual([2])
  })

  it('of another store of the same namespace, which is another epoch', async () => {
    const [one, other] = [createEventStore({ namespace: 's1' }), createEventStore({ namespace: 's1' })]
    const [id = ''] = await storeNotes(one, '_GET_stream', 1, 2)
    await storeNotes(other, '_GET_stream', 1, 2)
    expect(await isUnknown(other, id)).toBe(true)
  })

  it('of another epoch, though it ended where the bus begins', async () => {
    const [before, now] = [new EventBus({ epoch: 'e1' }), new EventBus({ epoch: 'e2', startAfterId: 2 })]
    const ids = await storeNotes(createEventStore({ bus: before, namespace: 'n' }), 's', 1, 2)
    expect(await isUnknown(createEventStore({ bus: now, namespace: 'n' }), ids[1] as string)).toBe(true)
  })

  it('of another namespace on the same bus', async () => {
    const bus = new EventBus()
    const [one, other] = ['s1', 's2'].map((namespace) => createEventStore({ bus, namespace }))
    const [id = ''] = await storeNotes(one as never, 'a', 1)
    await storeNotes(other as never, 'a', 2)
    expect(await isUnknown(other as never, id)).toBe(true)
    expect(await isUnknown(other as never, id.replace('s1', 's2'))).toBe(true)
    expect(await replay(one as never, id)).toMatchObject({ stream: 'a', notes: [] })
  })

  it('once its successor has left the ring, and not before', async () => {
    const store = createEventStore({ ringSize: 3 })
    const ids = await storeNotes(store, 's', 1, 2, 3, 4, 5)
    expect(await isUnknown(store, ids[0] as string)).toBe(true)
    // Its own message is gone as well, and nobody needs that.
    expect(await replay(store, ids[1] as string)).toMatchObject({ stream: 's', notes: [3, 4, 5] })
    await storeNotes(store, 's', 6)
    expect(await isUnknown(store, ids[1] as string)).toBe(true)
  })

  it('once a message of another stream behind it has, since nobody knows whose that was', async () => {
    const store = createEventStore({ ringSize: 2 })
    const [quiet = ''] = await storeNotes(store, 'quiet', 1)
    await storeNotes(store, 'busy', 2, 3)
    expect(await replay(store, quiet)).toMatchObject({ stream: 'quiet', ids: [] })
    await storeNotes(store, 'busy', 4)
    expect(await isUnknown(store, quiet)).toBe(true)
  })

  it('behind a message that was larger than the whole store, whose own id is known', async () => {
    const store = createEventStore({ maxBytes: 1000 })
    const [before = ''] = await storeNotes(store, 's', 1)
    const [large = ''] = await storeNotes(store, 's', 'x'.repeat(1000))
    expect(await isUnknown(store, before)).toBe(true)
    expect(await replay(store, large)).toMatchObject({ stream: 's', ids: [] })
    await storeNotes(store, 's', 2)
    expect((await replay(store, large)).notes).toEqual([2])
  })

  it('on a store that keeps nothing, but for the last one', async () => {
    const store = createEventStore({ ringSize: 0 })
    const [first = '', second = ''] = await storeNotes(store, 's', 1, 2)
    expect(await isUnknown(store, first)).toBe(true)
    expect(await replay(store, second)).toMatchObject({ stream: 's', ids: [] })
  })

  it('on a bus that is closed', async () => {
    const bus = new EventBus()
    const store = createEventStore({ bus, namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    bus.close()
    expect(await isUnknown(store, id)).toBe(true)
    await expect(store.storeEvent('s', note(3))).rejects.toMatchObject({ code: 'event_rejected' })
  })

  it('whatever is asked instead of one', async () => {
    const store = createEventStore()
    for (const what of [undefined, null, 7, {}, Symbol('id')]) {
      expect.soft(await isUnknown(store, what as never), String(what)).toBe(true)
    }
  })
})

describe('between the question for the stream and the replay', () => {
  it('a gap that comes rejects, since the SDK would attach a stream on which nothing comes', async () => {
    const store = createEventStore({ ringSize: 2 })
    const [id = ''] = await storeNotes(store, 's', 1)
    expect(await store.getStreamIdForEventId(id)).toBe('s')
    await storeNotes(store, 's', 2, 3, 4)
    await expect(replay(store, id)).rejects.toMatchObject({ code: 'replay_gap' })
    // Told once; from then on it is an id like any other that is unknown.
    expect((await replay(store, id)).stream).toBe('')
  })

  it('a gap that was told is told no more', async () => {
    const store = createEventStore({ ringSize: 2 })
    const [id = ''] = await storeNotes(store, 's', 1)
    await store.getStreamIdForEventId(id)
    await storeNotes(store, 's', 2, 3, 4)
    expect(await isUnknown(store, id)).toBe(true)
  })

  it('questions that no replay follows are forgotten', async () => {
    const store = createEventStore({ ringSize: 200 })
    const ids = await storeNotes(store, 's', ...numbers(1, 100))
    for (const id of ids) await store.getStreamIdForEventId(id)
    await storeNotes(store, 's', ...numbers(1, 400))
    expect((await replay(store, ids[0] as string)).stream).toBe('')
    await expect(replay(store, ids[99] as string)).rejects.toMatchObject({ code: 'replay_gap' })
  })
})
