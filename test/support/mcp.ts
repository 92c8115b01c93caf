/** A small vocabulary for event stores. */

import { createEventStore, type EventStore } from '../../src/mcp/index.ts'

/** A JSON-RPC notification that can be told from the others. */
export const note = (n: unknown) => ({ jsonrpc: '2.0' as const, method: 'note', params: { n } })

export interface Replayed {
  readonly stream: string
  readonly ids: string[]
  readonly messages: object[]
  /** The `n` of each `note`. */
  readonly notes: unknown[]
}

/** What a replay sends and returns. `between` runs within each `send`. */
export async function replay(
  store: EventStore,
  id: string,
  between?: (n: number) => unknown,
): Promise<Replayed> {
  const ids: string[] = []
  const messages: object[] = []
  const stream = await store.replayEventsAfter(id, {
    async send(eventId, message) {
      ids.push(eventId)
      messages.push(message)
      await between?.(ids.length)
    },
  })
  const notes = messages.map((message) => (message as ReturnType<typeof note>).params?.n)
  return { stream, ids, messages, notes }
}

/** Stores notes one behind the other, in one stream; their ids. */
export async function storeNotes(store: EventStore, stream: string, ...notes: unknown[]): Promise<string[]> {
  const ids: string[] = []
  for (const n of notes) ids.push(await store.storeEvent(stream, note(n)))
  return ids
}

/** True where the store says of an id what the SDK takes for "unknown", both times that it asks. */
export async function isUnknown(store: EventStore, id: string): Promise<boolean> {
  const stream = await store.getStreamIdForEventId(id)
  const { stream: replayed, ids } = await replay(store, id)
  return stream === undefined && replayed === '' && ids.length === 0
}

export const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)

export { createEventStore }
