import type { EventStore as EventStore1 } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { WebStandardStreamableHTTPServerTransport as Transport1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  type EventStore as EventStore2,
  WebStandardStreamableHTTPServerTransport as Transport2,
} from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import type { EventStore } from '../../src/mcp/index.ts'
import { createEventStore, note, numbers, storeNotes } from '../support/mcp.ts'
import { LaggingBus, SlowBus } from '../support/session-async-bus.ts'
import { pause } from '../support/until.ts'

/** A transport for one request, as the SDKs want it where there are no sessions. */
const SDKS = [
  {
    name: '@modelcontextprotocol/sdk 1.x',
    transportWith: (eventStore: EventStore) => new Transport1({ eventStore }),
  },
  {
    name: '@modelcontextprotocol/server 2.x',
    transportWith: (eventStore: EventStore) => new Transport2({ eventStore }),
  },
]

const get = (id: string) =>
  new Request('http://localhost/mcp', { headers: { accept: 'text/event-stream', 'last-event-id': id } })

/** The notes in what a stream has brought so far, without waiting for more. */
async function notesIn(response: Response): Promise<unknown[]> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  for (;;) {
    const read = await Promise.race([reader.read(), pause(5)])
    if (!read?.value) break
    text += new TextDecoder().decode(read.value)
  }
  await reader.cancel()
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, json = '']) => JSON.parse(json).params.n)
}

const STORES: [string, () => EventStore][] = [
  ['a store in memory', () => createEventStore()],
  ['a bus that answers later', () => createEventStore({ bus: new SlowBus(), namespace: 'n' })],
  ['a bus that is behind its backend', () => createEventStore({ bus: new LaggingBus(), namespace: 'n' })],
]

describe('the store', () => {
  it('is what both SDKs ask for', () => {
    const store = createEventStore()
    const one: EventStore1 = store
    const two: EventStore2 = store
    const onBus: EventStore1 & EventStore2 = createEventStore({ bus: new EventBus(), namespace: 'n' })
    expect([one, two, onBus].map((each) => typeof each.replayEventsAfter)).toEqual(Array(3).fill('function'))
  })
})

describe.each(SDKS)('to a transport of $name', ({ transportWith }) => {
  it('an unknown id is 400', async () => {
    const store = createEventStore({ ringSize: 2 })
    const [evicted = ''] = await storeNotes(store, '_GET_stream', 1, 2, 3, 4)
    const [foreign = ''] = await storeNotes(createEventStore(), '_GET_stream', 1)
    for (const id of [evicted, foreign, 'nonsense']) {
      expect.soft((await transportWith(store).handleRequest(get(id))).status, id).toBe(400)
    }
  })

  it('an id whose followers leave between its two questions is an error, and then unknown', async () => {
    const store = createEventStore({ ringSize: 2 })
    const [id = ''] = await storeNotes(store, '_GET_stream', 1)
    const asked: EventStore = {
      storeEvent: (stream, message) => store.storeEvent(stream, message),
      replayEventsAfter: (id, replay) => store.replayEventsAfter(id, replay),
      async getStreamIdForEventId(id) {
        const stream = await store.getStreamIdForEventId(id)
        await storeNotes(store, '_GET_stream', 2, 3, 4)
        return stream
      },
    }
    expect((await transportWith(asked).handleRequest(get(id))).status).toBe(500)
    expect((await transportWith(asked).handleRequest(get(id))).status).toBe(400)
  })

  it('a message that cannot be stored is an error of its `send`', async () => {
    const message = { jsonrpc: '2.0' as const, method: 'note', params: { n: 1n } }
    const sent = transportWith(createEventStore()).send(message)
    await expect(sent).rejects.toMatchObject({ code: 'event_rejected' })
  })

  describe.each(STORES)('with %s', (_, makeStore) => {
    it('what is sent at any moment of a replay arrives once', async () => {
      const seen: unknown[] = []
      for (const ticks of numbers(0, 40)) {
        const store = makeStore()
        const transport = transportWith(store)
        const [id = ''] = await storeNotes(store, '_GET_stream', 0, 1, 2)
        const answered = transport.handleRequest(get(id))
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
        await transport.send(note(3))
        seen.push(await notesIn(await answered))
        await transport.close()
      }
      expect(seen).toEqual(seen.map(() => [1, 2, 3]))
    })

    it('what is sent a while after a replay began arrives once', async () => {
      const seen: unknown[] = []
      for (const turns of numbers(1, 8)) {
        const store = makeStore()
        const transport = transportWith(store)
        const [id = ''] = await storeNotes(store, '_GET_stream', 0, 1, 2)
        const answered = transport.handleRequest(get(id))
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
        await Promise.all([transport.send(note(3)), transport.send(note(4))])
        seen.push(await notesIn(await answered))
        await transport.close()
      }
      expect(seen).toEqual(seen.map(() => [1, 2, 3, 4]))
    })
  })
})
