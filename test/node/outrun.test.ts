import { describe, expect, it } from 'vitest'
import { ended, heard, type RawClient } from '../support/http-client.ts'
import { type CloseInfo, hearMarker, makeBus, publishNotes, serveBus } from '../support/http-surfaces.ts'
import { idsFrom } from '../support/http-transcript.ts'
import { settle, until } from '../support/until.ts'

const RESUMED = { headers: { 'Last-Event-ID': 'e1:0' } }
const LARGE = 'x'.repeat(8192)

describe('a client on a socket whose replay is outrun by live traffic', () => {
  it('goes on, on the same response, and misses and doubles nothing', async () => {
    const bus = makeBus({ ringSize: 100_000, maxQueued: 16 })
    publishNotes(bus, 1500, LARGE)
    const closes: CloseInfo[] = []
    const server = await serveBus(bus, { onClose: (info) => closes.push(info) })
    const client: RawClient = await server.open(RESUMED)
    client.stopReading()
    for (let round = 0; round < 5; round++) {
      publishNotes(bus, 100, LARGE)
      await client.readSome(256 * 1024)
    }
    expect(bus.stats().evicted).toBeGreaterThan(0)
    client.readOn()
    await heard(client, (t) => t.control('replay_complete').length > 0)
    await hearMarker(bus, client)
    expect(client.transcript.ids).toEqual(idsFrom(1, 2001))
    expect(client.transcript.control('client_evicted')).toEqual([])
    expect(client.transcript.control('slow_client_warning')).toEqual([])
    expect(client.transcript.control('replay_complete')).toEqual([
      { replayedCount: 2000, lastReplayedEventId: 2000 },
    ])
    expect(closes).toEqual([])
    expect(server.exchanges).toHaveLength(1)
  })

  it('makes progress with every reconnect where the ring is too small for that', async () => {
    const bus = makeBus({ ringSize: 300, maxQueued: 16 })
    publishNotes(bus, 300, LARGE)
    const server = await serveBus(bus)
    let cursor = 'e1:0'
    const seen: number[] = []
    for (let attempt = 0; attempt < 4; attempt++) {
      const client = server.connect({ headers: { 'Last-Event-ID': cursor } })
      await client.readSome(1000)
      publishNotes(bus, 1000, LARGE)
      client.readOn()
      await ended(client)
      expect(client.transcript.control('client_evicted')).toHaveLength(1)
      const { ids } = client.transcript
      expect(ids.length).toBeGreaterThanOrEqual(300)
      expect(ids).toEqual(idsFrom(ids[0] as number, ids.at(-1) as number))
      expect(ids[0]).toBeGreaterThan(seen.at(-1) ?? 0)
      // What lies between two connections was announced, not lost in silence.
      if (attempt > 0)
        expect(client.transcript.control('state_resync_required')).toMatchObject([
          { earliestAvailableId: ids[0] },
        ])
      seen.push(...ids)
      cursor = client.transcript.cursor as string
    }
  })

  it('is destroyed where it has stopped reading for good', async () => {
    const bus = makeBus({ ringSize: 100_000, maxQueued: 16 })
    publishNotes(bus, 3000, LARGE)
    const closes: CloseInfo[] = []
    const server = await serveBus(bus, { stallTimeoutMs: 150, onClose: (info) => closes.push(info) })
    const client = await server.open(RESUMED)
    client.stopReading()
    await settle(5)
    publishNotes(bus, 100, LARGE)
    expect(bus.subscriberCount).toBe(0)
    await until(() => closes.length > 0)
    expect(['stalled', 'evicted']).toContain(closes[0]?.reason)
    client.readOn()
    await until(() => client.closed)
    expect(client.ended).toBe(false)
  })
})
