import { describe, expect, it } from 'vitest'
import { type BusLike, EventBus } from '../../src/index.ts'
import { createEventStore, isUnknown, note, numbers, replay, storeNotes } from '../support/mcp.ts'
import { flushed } from '../support/session.ts'
import { AsyncBus, LaggingBus, SlowBus } from '../support/session-async-bus.ts'
import { until } from '../support/until.ts'

const BUSES: [string, () => BusLike][] = [
  ['an EventBus', () => new EventBus()],
  ['an EventBus that caps bytes', () => new EventBus({ maxRingBytes: 1e6 })],
  ['a bus that answers later', () => new SlowBus()],
  ['a bus that is behind its backend', () => new LaggingBus()],
]

describe.each(BUSES)('on %s', (_, makeBus) => {
  it('a stream is continued by another store of the same namespace, with the same ids', async () => {
    const bus = makeBus()
    const [here, there] = [
      createEventStore({ bus, namespace: 'n' }),
      createEventStore({ bus, namespace: 'n' }),
    ]
    const [id = '', ...later] = await storeNotes(here, 's', 1, 2)
    later.push(...(await storeNotes(there, 's', 3)))
    await until(() => bus.lastEventId === 3)
    for (const store of [here, there]) {
      expect(await store.getStreamIdForEventId(id)).toBe('s')
      expect(await replay(store, id)).toMatchObject({ stream: 's', notes: [2, 3], ids: later })
    }
  })

  it('the order of calls that did not wait for each other is kept', async () => {
    const store = createEventStore({ bus: makeBus(), namespace: 'n' })
    const ids = await Promise.all(numbers(0, 10).map((n) => store.storeEvent('s', note(n))))
    expect(await replay(store, ids[0] as string)).toMatchObject({ notes: numbers(1, 10), ids: ids.slice(1) })
  })

  it('a replay goes on with what is stored meanwhile, each once', async () => {
    const store = createEventStore({ bus: makeBus(), namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2)
    const { notes } = await replay(store, id, (n) => n < 4 && storeNotes(store, 's', 100 + n, 200 + n))
    expect(notes).toEqual([1, 2, 101, 201, 102, 202, 103, 203])
  })

  it('what was stored before the bus ended is replayed behind its end', async () => {
    const bus = makeBus()
    const store = createEventStore({ bus, namespace: 'n' })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    await bus.end()
    await until(() => bus.ended)
    expect((await replay(store, id)).notes).toEqual([2])
    await expect(store.storeEvent('s', note(3))).rejects.toMatchObject({ code: 'event_rejected' })
  })
})

/** A store on a bus that lets the test say when a `publish` is delivered, and when it resolves. */
function scene() {
  const bus = new AsyncBus()
  const store = createEventStore({ bus, namespace: 'n' })
  const stored = async (n: number) => {
    const id = store.storeEvent('s', note(n))
    await flushed()
    bus.resolve()
    return id
  }
  return { bus, store, stored }
}

describe('on a bus that answers later', () => {
  it('a message that could not be published rejects with what the bus rejects with, and is not there', async () => {
    const { bus, store, stored } = scene()
    const id = await stored(1)
    const refused = store.storeEvent('s', note(2))
    bus.fail()
    await expect(refused).rejects.toMatchObject({ code: 'backend_unavailable' })
    expect((await replay(store, id)).notes).toEqual([])
  })

  it('a message that is on the bus is replayed, though its publish has not resolved', async () => {
    const { bus, store, stored } = scene()
    const id = await stored(1)
    const storing = store.storeEvent('s', note(2))
    bus.deliver()
    const { ids, notes } = await replay(store, id)
    expect(notes).toEqual([2])
    bus.resolve()
    // By that id the SDK knows that it has been sent.
    expect(ids).toEqual([await storing])
  })

  it('a message that this store has an id of is replayed, though its bus has not come so far', async () => {
    const { bus, store, stored } = scene()
    const id = await stored(1)
    // The backend has it: the publish resolves, and the subscribers get it later.
    const storing = store.storeEvent('s', note(2))
    await flushed()
    bus.pending.shift()?.settle({ id: 2, v: 1, type: 'mcp_message', data: {} })
    const second = await storing
    const replayed = replay(store, id)
    await flushed()
    bus.inner.publish({ type: 'mcp_message', data: note(2), namespace: 'n', stream: 's' })
    expect(await replayed).toMatchObject({ notes: [2], ids: [second] })
  })

  it('whose subscriptions fail, a question rejects with that and holds no subscriber', async () => {
    const { bus, store, stored } = scene()
    const id = await stored(1)
    const subscribe = bus.inner.subscribe.bind(bus.inner)
    bus.inner.subscribe = () =>
      Object.assign(subscribe(), { next: () => Promise.reject(new Error('the reader is broken')) })
    await expect(store.getStreamIdForEventId(id)).rejects.toThrow('the reader is broken')
    await expect(replay(store, id)).rejects.toThrow('the reader is broken')
    expect(bus.inner.subscriberCount).toBe(0)
  })

  it('whose publishes resolve in any order, the last message is waited for', async () => {
    const { bus, store, stored } = scene()
    const id = await stored(1)
    const storing = [store.storeEvent('s', note(2)), store.storeEvent('s', note(3))]
    const [one, two] = bus.pending.splice(0)
    two?.settle({ id: 3, v: 1, type: 'mcp_message', data: {} })
    await flushed()
    one?.settle({ id: 2, v: 1, type: 'mcp_message', data: {} })
    const ids = await Promise.all(storing)
    const replayed = replay(store, id)
    await flushed()
    for (const n of [2, 3]) {
      bus.inner.publish({ type: 'mcp_message', data: note(n), namespace: 'n', stream: 's' })
      await flushed()
    }
    expect(await replayed).toMatchObject({ notes: [2, 3], ids })
  })

  it('whose backend lost everything, the last message of now is waited for', async () => {
    const { bus, store, stored } = scene()
    for (const n of numbers(1, 9)) await stored(n)
    bus.recreate()
    const id = await stored(101)
    const storing = store.storeEvent('s', note(102))
    await flushed()
    bus.pending.shift()?.settle({ id: 2, v: 1, type: 'mcp_message', data: {} })
    await storing
    const replayed = replay(store, id)
    await flushed()
    bus.inner.publish({ type: 'mcp_message', data: note(102), namespace: 'n', stream: 's' })
    expect((await replayed).notes).toEqual([102])
  })

  it('whose backend lost everything, the last message of before is not waited for', async () => {
    const { bus, store, stored } = scene()
    for (const n of numbers(1, 9)) await stored(n)
    bus.recreate()
    const id = await stored(101)
    const there = createEventStore({ bus, namespace: 'n' })
    const storing = there.storeEvent('s', note(102))
    bus.resolve()
    await storing
    expect((await replay(store, id)).notes).toEqual([102])
    // One that has stored nothing since.
    const late = scene()
    for (const n of numbers(1, 9)) await late.stored(n)
    late.bus.inner = bus.inner
    expect((await replay(late.store, id)).notes).toEqual([102])
  })

  it('of a message that other stores have put there, a replay waits for none', async () => {
    const { bus, store, stored } = scene()
    const id = await stored(1)
    void createEventStore({ bus, namespace: 'n' }).storeEvent('s', note(2))
    expect((await replay(store, id)).notes).toEqual([])
  })

  it('ids of before the backend lost everything are unknown, and new ones are good', async () => {
    const { bus, store, stored } = scene()
    const old = await stored(1)
    for (const n of numbers(2, 9)) await stored(n)
    bus.recreate()
    const [id, second] = [await stored(101), await stored(102)]
    expect(await isUnknown(store, old)).toBe(true)
    expect(await replay(store, id)).toMatchObject({ stream: 's', notes: [102], ids: [second] })
  })

  it('a message that is published as the backend loses everything has an unknown id, not a wrong one', async () => {
    const { bus, store, stored } = scene()
    await stored(1)
    const storing = store.storeEvent('s', note(2))
    bus.recreate()
    for (const n of numbers(1, 5))
      bus.inner.publish({ type: 'mcp_message', data: note(n), namespace: 'n', stream: 's' })
    bus.resolve()
    expect(await isUnknown(store, await storing)).toBe(true)
  })
})
