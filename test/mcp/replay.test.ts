import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventStore, isUnknown, note, numbers, replay, storeNotes } from '../support/mcp.ts'
import { runs } from '../support/runs.ts'

const UNFIT: [string, () => object][] = [
  ['a BigInt', () => ({ n: 1n })],
  [
    'a circle',
    () => {
      const circle = { a: {} }
      circle.a = circle
      return circle
    },
  ],
  [
    'a getter that throws',
    () => ({
      get n() {
        throw new Error('secret')
      },
    }),
  ],
  [
    'a `toJSON` that throws',
    () => ({
      toJSON() {
        throw new Error('secret')
      },
    }),
  ],
  ['a `toJSON` that gives nothing', () => ({ toJSON() {} })],
  ['a `toJSON` that gives no object', () => ({ toJSON: () => 7 })],
]

describe('a replay', () => {
  it('is exactly the later messages of that stream, with the ids they were given', async () => {
    const store = createEventStore()
    const ids: string[] = []
    for (const n of numbers(1, 6)) ids.push(...(await storeNotes(store, n % 2 ? 'odd' : 'even', n)))
    expect(await replay(store, ids[0] as string)).toMatchObject({
      stream: 'odd',
      notes: [3, 5],
      ids: [ids[2], ids[4]],
    })
    expect(await replay(store, ids[3] as string)).toMatchObject({ stream: 'even', notes: [6], ids: [ids[5]] })
  })

  it('behind the last message is empty, and says which stream it is', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1)
    expect(await replay(store, id)).toMatchObject({ stream: 's', ids: [] })
  })

  it('can be had again, the final result too', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1)
    const result = { jsonrpc: '2.0', id: 7, result: { content: [] } }
    await store.storeEvent('s', result)
    for (const _ of numbers(1, 3)) expect((await replay(store, id)).messages).toEqual([result])
  })

  it('has what was stored while nobody was attached', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await storeNotes(store, 's', 2, 3)
    expect((await replay(store, id)).notes).toEqual([2, 3])
  })

  it('keeps the order of calls that did not wait for each other', async () => {
    const store = createEventStore()
    const first = store.storeEvent('s', note(0))
    const ids = await Promise.all(numbers(1, 10).map((n) => store.storeEvent('s', note(n))))
    expect(await replay(store, await first)).toMatchObject({ notes: numbers(1, 10), ids })
  })

  it('calls `send` as a method of what it was given', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2)
    class Stream {
      readonly sent: object[] = []
      async send(_: string, message: object): Promise<void> {
        this.sent.push(message)
      }
    }
    const stream = new Stream()
    expect(await store.replayEventsAfter(id, stream)).toBe('s')
    expect(stream.sent).toEqual([note(1), note(2)])
  })

  it('waits for each `send`, in order', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2, 3)
    let sending = 0
    const { notes } = await replay(store, id, async () => {
      expect(++sending).toBe(1)
      await new Promise((resolve) => setTimeout(resolve, 1))
      sending--
    })
    expect(notes).toEqual([1, 2, 3])
  })

  it('goes on with what is stored meanwhile, each once', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2)
    const { notes } = await replay(store, id, (n) => n < 5 && storeNotes(store, 's', 100 + n, 200 + n))
    expect(notes).toEqual([1, 2, 101, 201, 102, 202, 103, 203, 104, 204])
  })

  it('is complete however far the ring moves on meanwhile', async () => {
    const store = createEventStore({ ringSize: 4 })
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2, 3)
    const { notes } = await replay(store, id, (n) => n === 1 && storeNotes(store, 'other', ...numbers(1, 50)))
    expect(notes).toEqual([1, 2, 3])
  })

  it('outruns more messages than a subscriber may have queued', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0, 1)
    const more = numbers(2, 1000)
    const { notes } = await replay(store, id, (n) => n === 1 && storeNotes(store, 's', ...more))
    expect(notes).toEqual([1, ...more])
  })

  it('rejects where the ring lets go of what it had still to send', async () => {
    const store = createEventStore({ ringSize: 300 })
    const [id = ''] = await storeNotes(store, 's', 0, 1)
    const replayed = replay(store, id, (n) => n === 1 && storeNotes(store, 's', ...numbers(2, 1000)))
    await expect(replayed).rejects.toMatchObject({ code: 'replay_gap' })
    expect(await isUnknown(store, id)).toBe(true)
  })

  it('rejects with what `send` rejects with', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0, 1, 2)
    const replayed = replay(store, id, () => Promise.reject(new Error('the socket is gone')))
    await expect(replayed).rejects.toThrow('the socket is gone')
    expect((await replay(store, id)).notes).toEqual([1, 2])
  })

  it('finds each message of a random history, from any place in it', async () => {
    const history = fc.array(fc.constantFrom('a', 'b', '', '_GET_stream'), { minLength: 1, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 30 }), async (streams, ringSize) => {
        const store = createEventStore({ ringSize })
        const ids: string[] = []
        for (const [n, stream] of streams.entries()) ids.push(...(await storeNotes(store, stream, n)))
        for (const [n, id] of ids.entries()) {
          const known = n + 1 >= streams.length - ringSize
          expect(await store.getStreamIdForEventId(id)).toBe(known ? streams[n] : undefined)
          const later = [...streams.keys()].filter((other) => other > n && streams[other] === streams[n])
          if (known) {
            const ofLater = later.map((other) => ids[other])
            expect(await replay(store, id)).toMatchObject({ stream: streams[n], notes: later, ids: ofLater })
          } else expect(await isUnknown(store, id)).toBe(true)
        }
      }),
      runs(60),
    )
  })
})

describe('the priming message of the SDK', () => {
  it('has an id that can be continued', async () => {
    const store = createEventStore()
    const id = await store.storeEvent('s', {})
    await storeNotes(store, 's', 1, 2)
    expect(await store.getStreamIdForEventId(id)).toBe('s')
    expect((await replay(store, id)).notes).toEqual([1, 2])
  })

  it('is never replayed', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1)
    await store.storeEvent('s', {})
    await storeNotes(store, 's', 2)
    await store.storeEvent('s', {})
    expect((await replay(store, id)).notes).toEqual([2])
  })
})

describe('a message', () => {
  it('is kept as it was when it was stored', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0)
    const message = note({ progress: 1 })
    const storing = store.storeEvent('s', message)
    message.params.n = { progress: 2 }
    await storing
    message.method = 'changed'
    expect((await replay(store, id)).messages).toEqual([note({ progress: 1 })])
  })

  it('is handed out anew each time', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0, 1)
    const { messages } = await replay(store, id)
    Object.assign(messages[0] as object, { method: 'changed' })
    expect((await replay(store, id)).messages).toEqual([note(1)])
  })

  it.each(UNFIT)('that JSON cannot carry (%s) is rejected and leaves no trace', async (_, made) => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 0)
    const refused = store.storeEvent('s', made())
    await expect(refused).rejects.toMatchObject({ name: 'EventRejectedError', code: 'event_rejected' })
    await expect(refused).rejects.not.toThrow(/secret/)
    const [next] = await storeNotes(store, 's', 1)
    expect(next).toBe(id.replace(/1$/, '2'))
    expect((await replay(store, id)).notes).toEqual([1])
  })

  it.each([undefined, null, 'text', 7, true])('that is no object (%s) is a TypeError', async (message) => {
    const store = createEventStore()
    await expect(store.storeEvent('s', message as never)).rejects.toThrow(/^message must be/)
    await expect(store.storeEvent('s', message as never)).rejects.toThrow(TypeError)
  })

  it.each([undefined, null, 7, {}])(
    'of a stream whose name is no string (%s) is a TypeError',
    async (name) => {
      const store = createEventStore()
      await expect(store.storeEvent(name as never, note(1))).rejects.toThrow(TypeError)
      await expect(store.storeEvent(name as never, note(1))).rejects.toThrow(/^streamId must be/)
    },
  )

  it('needs a function to be replayed with', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1)
    await expect(store.replayEventsAfter(id, {} as never)).rejects.toThrow(/^send must be/)
    await expect(store.replayEventsAfter(id, undefined as never)).rejects.toThrow(/^replay must be/)
  })
})
