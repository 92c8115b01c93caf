import { describe, expect, it } from 'vitest'
import { sseResponse } from '../../src/web/index.ts'
import {
  type CloseInfo,
  makeBus,
  publishNotes,
  type SseOptions,
  webRequest,
} from '../support/http-surfaces.ts'
import { idsFrom, Transcript } from '../support/http-transcript.ts'
import { settle, until } from '../support/until.ts'

const KB = 'x'.repeat(1024)
const RESUMED = { headers: { 'Last-Event-ID': 'e1:0' } }

/** A reader that pulls one chunk at a time, when told to. */
function pulled(bus: ReturnType<typeof makeBus>, options: SseOptions = {}, request = RESUMED) {
  const closes: CloseInfo[] = []
  const response = sseResponse(bus, webRequest(request), { ...options, onClose: (info) => closes.push(info) })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const transcript = new Transcript()
  let done = false
  const pull = async () => {
    const result = await reader.read()
    done ||= result.done
    if (result.value) transcript.feed(result.value)
  }
  return {
    transcript,
    closes,
    pull,
    get done() {
      return done
    },
    pullUntil: async (condition: () => boolean) => {
      while (!done && !condition()) await pull()
    },
    leave: () => reader.cancel(),
  }
}

/** One replay_complete, which counts all events that were written before it. */
function expectOneCompleteReplay(transcript: Transcript): void {
  expect(transcript.control('replay_complete')).toHaveLength(1)
  const at = transcript.blocks.findIndex((block) => block.event === 'replay_complete')
  const before = transcript.blocks.slice(0, at).filter((block) => block.id !== undefined)
  expect(transcript.control('replay_complete')).toEqual([
    { replayedCount: before.length, lastReplayedEventId: Number(before.at(-1)?.id?.split(':')[1]) },
  ])
}

describe('a replay that live traffic outran goes on, on the same response', () => {
  it('without a gap, a warning or a word about the eviction, and completes once', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus)
    for (let round = 0; round < 4; round++) {
      await client.pull()
      publishNotes(bus, 30, KB)
    }
    expect(bus.stats().evicted).toBeGreaterThan(0)
    await client.pullUntil(() => client.transcript.control('replay_complete').length > 0)
    publishNotes(bus, 3, KB)
    await client.pullUntil(() => client.transcript.ids.length === 423)
    expect(client.transcript.ids).toEqual(idsFrom(1, 423))
    expectOneCompleteReplay(client.transcript)
    for (const type of ['client_evicted', 'slow_client_warning', 'state_resync_required']) {
      expect(client.transcript.control(type), type).toEqual([])
    }
    expect(client.closes).toEqual([])
    expect(bus.subscriberCount).toBe(1)
    await client.leave()
    expect(client.closes.map(({ reason }) => reason)).toEqual(['disconnected'])
  })

  it('again and again, as often as it is outrun', async () => {
    const bus = makeBus({ maxQueued: 4, ringSize: 10_000 })
    publishNotes(bus, 400, KB)
    const client = pulled(bus)
    let published = 400
    // A pull brings less than sixty: the client falls further behind until publishing stops.
    for (; published < 1600; published += 60) {
      await client.pull()
      publishNotes(bus, 60, KB)
    }
    await client.pullUntil(() => client.transcript.control('replay_complete').length > 0)
    expect(bus.stats().evicted).toBeGreaterThan(1)
    expect(client.transcript.ids).toEqual(idsFrom(1, published))
    expectOneCompleteReplay(client.transcript)
    expect(client.transcript.control('client_evicted')).toEqual([])
    await client.leave()
  })

  it('with its resync frame told once', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus, {}, { headers: { 'Last-Event-ID': 'e0:5' } })
    await client.pull()
    publishNotes(bus, 30, KB)
    await client.pullUntil(() => client.transcript.control('replay_complete').length > 0)
    expect(client.transcript.control('state_resync_required')).toHaveLength(1)
    expect(client.transcript.ids).toEqual(idsFrom(1, 330))
    expectOneCompleteReplay(client.transcript)
    await client.leave()
  })

  it('with its filter asked about each event once, and only what passed counted', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 400, KB)
    const asked: number[] = []
    const client = pulled(bus, {
      filter: ({ id }) => {
        asked.push(id as number)
        return (id as number) % 2 === 0
      },
    })
    await client.pull()
    publishNotes(bus, 60, KB)
    await client.pullUntil(() => client.transcript.control('replay_complete').length > 0)
    expect(bus.stats().evicted).toBe(1)
    expect(client.transcript.ids).toEqual(idsFrom(1, 460).filter((id) => id % 2 === 0))
    expectOneCompleteReplay(client.transcript)
    await client.leave()
  })

  it('also one that began with `from`', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus, { from: 'earliest' }, { headers: {} } as never)
    await client.pull()
    publishNotes(bus, 30, KB)
    await client.pullUntil(() => client.transcript.control('replay_complete').length > 0)
    expect(client.transcript.ids).toEqual(idsFrom(1, 330))
    expect(client.transcript.control('state_resync_required')).toEqual([])
    expectOneCompleteReplay(client.transcript)
    await client.leave()
  })

  it('and is warned and evicted as usual once it is live', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus)
    await client.pull()
    publishNotes(bus, 30, KB)
    await client.pullUntil(() => client.transcript.control('replay_complete').length > 0)
    publishNotes(bus, 30, KB)
    await client.pullUntil(() => client.done)
    expect(client.transcript.control('slow_client_warning')).toHaveLength(1)
    const [evicted] = client.transcript.control('client_evicted')
    expect(evicted).toMatchObject({ reason: 'queue_overflow', droppedAfter: client.transcript.ids.at(-1) })
    expect(client.transcript.ids).toEqual(idsFrom(1, client.transcript.ids.length))
    expect(client.closes.map(({ reason }) => reason)).toEqual(['evicted'])
  })
})

describe('a replay that was outrun cannot go on, says so and ends', () => {
  /** What every such end has in common: no gap so far, no completion, and a cursor that leads on from there. */
  const expectEvicted = (client: ReturnType<typeof pulled>) => {
    const { transcript } = client
    expect(transcript.ids).toEqual(idsFrom(1, transcript.ids.length))
    expect(transcript.ids.length).toBeGreaterThanOrEqual(300)
    expect(transcript.control('replay_complete')).toEqual([])
    expect(transcript.control('client_evicted')).toMatchObject([
      { reason: 'queue_overflow', droppedAfter: transcript.ids.at(-1) },
    ])
    expect(transcript.blocks.at(-1)?.event).toBe('client_evicted')
    expect(client.closes.map(({ reason }) => reason)).toEqual(['evicted'])
  }

  it('where the next event has left the ring', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 300 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus)
    await client.pull()
    publishNotes(bus, 1000, KB)
    await client.pullUntil(() => client.done)
    expectEvicted(client)

    const next = pulled(bus, {}, { headers: { 'Last-Event-ID': client.transcript.cursor as string } })
    await next.pullUntil(() => next.transcript.control('replay_complete').length > 0)
    expect(next.transcript.control('state_resync_required')).toMatchObject([
      { reason: 'ring_evicted', lastDeliveredId: client.transcript.ids.at(-1), earliestAvailableId: 1001 },
    ])
    expect(next.transcript.ids).toEqual(idsFrom(1001, 1300))
    await next.leave()
  })

  it('where its place has been taken at the subscriber limit', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000, maxSubscribers: 1 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus)
    await client.pull()
    publishNotes(bus, 30, KB)
    const other = pulled(bus, {}, { headers: {} } as never)
    await other.pull()
    await client.pullUntil(() => client.done)
    expectEvicted(client)
    await other.leave()
  })

  it('where the bus has been closed', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus, { closeTimeoutMs: 60_000 })
    await client.pull()
    publishNotes(bus, 30, KB)
    bus.close()
    await client.pullUntil(() => client.done)
    const { transcript } = client
    expect(transcript.ids).toEqual(idsFrom(1, transcript.ids.length))
    expect(transcript.control('replay_complete')).toEqual([])
    expect(transcript.control('client_evicted')).toHaveLength(1)
    expect(client.closes).toHaveLength(1)
  })

  it('but goes on where the bus has only ended', async () => {
    const bus = makeBus({ maxQueued: 8, ringSize: 10_000 })
    publishNotes(bus, 300, KB)
    const client = pulled(bus)
    await client.pull()
    publishNotes(bus, 30, KB)
    bus.end()
    await client.pullUntil(() => client.done)
    expect(client.transcript.ids).toEqual(idsFrom(1, 330))
    expectOneCompleteReplay(client.transcript)
    expect(client.transcript.control('client_evicted')).toEqual([])
    await until(() => client.closes.length === 1)
    expect(client.closes[0]?.reason).toBe('ended')
    await settle(1)
  })
})
