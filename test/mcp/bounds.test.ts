import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EventBus } from '../../src/index.ts'
import type { EventStore } from '../../src/mcp/index.ts'
import { createEventStore, isUnknown, note, numbers, replay, storeNotes } from '../support/mcp.ts'

/** The bus in memory that a store has made for itself, as of its next message. */
async function busOf(store: EventStore): Promise<EventBus> {
  const publish = vi.spyOn(EventBus.prototype, 'publish')
  await store.storeEvent('', {})
  const bus = publish.mock.contexts[0] as EventBus
  publish.mockRestore()
  return bus
}

describe('the caps', () => {
  it('bound the whole store by count: 8000 of 100,000 messages, though each had a stream of its own', async () => {
    const store = createEventStore()
    const bus = await busOf(store)
    const ids = await Promise.all(numbers(1, 100_000).map((n) => store.storeEvent(`stream ${n}`, note(n))))
    expect(bus.stats()).toMatchObject({ published: 100_001, ringEvents: 8000, subscribers: [] })
    expect(bus.stats().ringBytes).toBeLessThan(16_777_216)
    expect(await isUnknown(store, ids.at(-8002) as string)).toBe(true)
    expect(await store.getStreamIdForEventId(ids.at(-8000) as string)).toBe('stream 92001')
  })

  it('bound the whole store by bytes, names of streams included: 16 MiB', async () => {
    const store = createEventStore({ ringSize: Infinity })
    const bus = await busOf(store)
    for (const n of numbers(1, 40))
      await store.storeEvent(`${n}${'x'.repeat(2 ** 19)}`, note('x'.repeat(2 ** 19)))
    expect(bus.stats().ringBytes).toBeLessThanOrEqual(16_777_216)
    expect(bus.stats().ringEvents).toBe(15)
  })

  it('are those that were asked for', async () => {
    const store = createEventStore({ ringSize: 5, maxBytes: 2000 })
    const bus = await busOf(store)
    await storeNotes(store, 's', ...numbers(1, 50))
    expect(bus.stats().ringEvents).toBe(5)
    await storeNotes(store, 's', 'x'.repeat(700), 'x'.repeat(700))
    expect(bus.stats().ringEvents).toBeLessThan(5)
    expect(bus.stats().ringBytes).toBeLessThanOrEqual(2000)
  })

  it('count what an envelope weighs in UTF-8', async () => {
    const [narrow, wide] = [createEventStore({ maxBytes: 2000 }), createEventStore({ maxBytes: 2000 })]
    const [first = ''] = await storeNotes(narrow, 's', 'x'.repeat(800), 'x'.repeat(800))
    expect((await replay(narrow, first)).notes.length).toBe(1)
    const [second = ''] = await storeNotes(wide, 's', '字'.repeat(800), 'x')
    expect((await replay(wide, second)).notes).toEqual(['x'])
    expect((await busOf(wide)).stats().ringEvents).toBe(2)
  })

  it('are no caps on replays at a time', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    const replayed = await Promise.all(numbers(1, 5000).map(() => replay(store, id)))
    expect(new Set(replayed.map(({ notes }) => notes.join()))).toEqual(new Set(['2']))
  })

  it('leave no subscriber behind, whatever was asked', async () => {
    const store = createEventStore({ ringSize: 2 })
    const bus = await busOf(store)
    const ids = await storeNotes(store, 's', 1, 2, 3, 4)
    for (const id of [...ids, 'nonsense']) await isUnknown(store, id)
    await replay(store, ids[2] as string, () => Promise.reject(new Error('cut'))).catch(() => {})
    expect(bus.stats().subscribers).toEqual([])
  })
})

describe('with ttlMs', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('a message is replayed until it is so old, and then its predecessors are unknown', async () => {
    const store = createEventStore({ ttlMs: 1000 })
    const [id = '', second = ''] = await storeNotes(store, 's', 1, 2)
    vi.advanceTimersByTime(999)
    expect((await replay(store, id)).notes).toEqual([2])
    vi.advanceTimersByTime(1)
    expect(await isUnknown(store, id)).toBe(true)
    expect(await replay(store, second)).toMatchObject({ stream: 's', ids: [] })
  })

  it('ages are those of each message, and ids go on', async () => {
    const store = createEventStore({ ttlMs: 1000 })
    const ids: string[] = []
    for (const n of numbers(1, 6)) {
      ids.push(...(await storeNotes(store, n % 2 ? 'odd' : 'even', n)))
      vi.advanceTimersByTime(300)
    }
    // They are 1800, 1500, 1200, 900, 600 and 300 old.
    expect(await isUnknown(store, ids[1] as string)).toBe(true)
    expect(await replay(store, ids[2] as string)).toMatchObject({ stream: 'odd', notes: [5], ids: [ids[4]] })
    expect(await replay(store, ids[3] as string)).toMatchObject({ stream: 'even', notes: [6], ids: [ids[5]] })
    const [next] = await storeNotes(store, 'odd', 7)
    expect(await replay(store, ids[2] as string)).toMatchObject({ notes: [5, 7], ids: [ids[4], next] })
    expect(next).toBe((ids[5] as string).replace('even', 'odd').replace(/6$/, '7'))
  })

  it('a store that nobody asks lets its messages go, within twice the time, and its timer with them', async () => {
    const store = createEventStore({ ttlMs: 1000 })
    await storeNotes(store, 's', 1)
    vi.advanceTimersByTime(900)
    await storeNotes(store, 's', 2)
    vi.advanceTimersByTime(100)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1000)
    expect(vi.getTimerCount()).toBe(0)
    // The one by which this looks.
    expect((await busOf(store)).stats().ringEvents).toBe(1)
  })

  it('looking what is old leaves no subscriber behind', async () => {
    const store = createEventStore({ ttlMs: 1000 })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    for (const _ of numbers(1, 3)) await replay(store, id)
    expect((await busOf(store)).stats().subscribers).toEqual([])
  })

  it('a replay under way goes on, with what is stored meanwhile', async () => {
    const store = createEventStore({ ttlMs: 1000 })
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2)
    const { notes } = await replay(store, id, async (n) => {
      if (n > 2) return
      vi.advanceTimersByTime(1000 / n)
      await storeNotes(store, 's', 10 + n)
      await isUnknown(store, id)
    })
    expect(notes).toEqual([1, 2, 11, 12])
  })

  it('the caps hold as well', async () => {
    const store = createEventStore({ ttlMs: 1000, ringSize: 3, maxBytes: 10_000 })
    const ids = await storeNotes(store, 's', ...numbers(1, 10))
    vi.advanceTimersByTime(500)
    await storeNotes(store, 's', 11)
    vi.advanceTimersByTime(500)
    expect(await isUnknown(store, ids[8] as string)).toBe(true)
    await storeNotes(store, 's', ...numbers(12, 20))
    expect((await busOf(store)).stats().ringEvents).toBe(3)
    await storeNotes(store, 's', 'x'.repeat(6000), 'x'.repeat(6000))
    expect((await busOf(store)).stats().ringBytes).toBeLessThan(10_000)
  })

  it.each([undefined, 0, Infinity])('of %s no message ages, and there is no timer', async (ttlMs) => {
    const store = createEventStore({ ttlMs })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(1e9)
    expect((await replay(store, id)).notes).toEqual([2])
  })

  it('longer than a timer can wait, messages stay as long', async () => {
    const store = createEventStore({ ttlMs: 3e9 })
    const [id = ''] = await storeNotes(store, 's', 1, 2)
    vi.advanceTimersByTime(2.9e9)
    expect((await replay(store, id)).notes).toEqual([2])
    vi.advanceTimersByTime(0.1e9)
    expect(await isUnknown(store, id)).toBe(true)
  })
})

it('the timer of a store that ages keeps no process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await createEventStore({ ttlMs: 1_000_000 }).storeEvent('s', note(1))
  expect(timers()).toBe(before)
})
