import { describe, expect, it } from 'vitest'
import { ended, heard } from '../support/http-client.ts'
import {
  afterSubscribe,
  fakeClock,
  hearMarker,
  makeBus,
  publishNotes,
  surfaces,
} from '../support/http-surfaces.ts'
import { settle } from '../support/until.ts'

const complete = (replayedCount: number, lastReplayedEventId?: number) => ({
  replay_complete: { replayedCount, ...(lastReplayedEventId === undefined ? {} : { lastReplayedEventId }) },
})
const behind = (cursor: string) => ({ headers: { 'Last-Event-ID': cursor } })

describe.each(surfaces)(
  'a client without a cursor gets a cursor block right behind `retry:` ($name)',
  ({ open }) => {
    it('that names the head', async () => {
      const bus = makeBus()
      publishNotes(bus, 7)
      const stream = await open(bus)
      await heard(stream, (t) => t.items.length >= 2)
      expect(stream.transcript.text).toBe('retry: 3000\n\nid: e1:7\nevent: cursor\ndata:\n\n')
    })

    it('that is a bare number with `cursor: id`', async () => {
      const bus = makeBus()
      publishNotes(bus, 7)
      const stream = await open(bus, { cursor: 'id' })
      await heard(stream, (t) => t.items.length >= 2)
      expect(stream.transcript.text).toBe('retry: 3000\n\nid: 7\nevent: cursor\ndata:\n\n')
    })

    it('also where there is no `retry:`', async () => {
      const stream = await open(makeBus(), { retryMs: 0 })
      await heard(stream, (t) => t.items.length >= 1)
      expect(stream.transcript.said).toEqual(['cursor e1:0'])
    })

    it('with `from`: that names the id before the first one to be replayed', async () => {
      const bus = makeBus({ ringSize: 3 })
      publishNotes(bus, 5)
      for (const [from, cursor] of [
        ['earliest', 'e1:2'],
        [{ last: 2 }, 'e1:3'],
        [{ last: 100 }, 'e1:2'],
        [{ last: 0 }, 'e1:5'],
      ] as const) {
        const stream = await open(bus, { from })
        await heard(stream, (t) => t.control('replay_complete').length > 0)
        expect(stream.transcript.said.slice(0, 2)).toEqual(['retry 3000', `cursor ${cursor}`])
      }
    })

    it('that was fixed when it subscribed: what comes then is not skipped by it', async () => {
      const bus = makeBus()
      publishNotes(bus, 2)
      const stream = await open(afterSubscribe(bus, () => publishNotes(bus, 1)))
      await hearMarker(bus, stream)
      expect(stream.transcript.said).toEqual(['retry 3000', 'cursor e1:2', 'e1:3 note', 'e1:4 marker'])
    })
  },
)

describe.each(surfaces)('a replay that wrote no id ends with a cursor block ($name)', ({ open }) => {
  it('where there was nothing to replay', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, {}, behind('e1:5'))
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual(['retry 3000', complete(0), 'cursor e1:5', 'e1:6 marker'])
  })

  it('where the filter refused it all', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, { filter: ({ type }) => type !== 'note' }, behind('e1:2'))
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual(['retry 3000', complete(0), 'cursor e1:5', 'e1:6 marker'])
  })

  it('where `format` left it all out', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const format = (frame: { type: string; id?: unknown }) =>
      frame.type === 'note'
        ? undefined
        : `${frame.id === undefined ? '' : `id: e1:${frame.id}\n`}data: "${frame.type}"\n\n`
    const stream = await open(bus, { format }, behind('e1:2'))
    await hearMarker(bus, stream)
    expect(stream.transcript.said.filter((line) => line !== 'no id: message')).toEqual([
      'retry 3000',
      'cursor e1:5',
      'e1:6 message',
    ])
  })

  it('where the bus is new and the cursor of its forerunner', async () => {
    const bus = makeBus()
    const stream = await open(bus, {}, behind('e0:9'))
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      {
        state_resync_required: {
          reason: 'epoch_reset',
          detail: 'epoch_mismatch',
          lastDeliveredId: 9,
          earliestAvailableId: 1,
          epoch: 'e1',
        },
      },
      complete(0),
      'cursor e1:0',
      'e1:1 marker',
    ])
  })

  it('with `from`, besides the one at its start', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, { from: 'earliest', filter: ({ type }) => type !== 'note' })
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:0',
      complete(0),
      'cursor e1:5',
      'e1:6 marker',
    ])
  })

  it('that does not pass by what was published while it was subscribing', async () => {
    const bus = makeBus({
      onDiagnostic: ({ type }) => {
        if (type === 'state_resync_required') publishNotes(bus, 1)
      },
    })
    const stream = await open(bus, {}, behind('e0:9'))
    await hearMarker(bus, stream)
    const said = stream.transcript.said.filter((line) => typeof line === 'string')
    // Cut right behind the cursor block, the client must still resume in front of the event that follows it.
    const before = said.slice(0, said.indexOf('e1:1 note'))
    expect(said).toContain('e1:1 note')
    expect(before).not.toContain('cursor e1:1')
  })

  it('that names the head as it was at subscription, not events that came since', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(
      afterSubscribe(bus, () => publishNotes(bus, 2)),
      {},
      behind('e1:5'),
    )
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      complete(0),
      'cursor e1:5',
      'e1:6 note',
      'e1:7 note',
      'e1:8 marker',
    ])
  })
})

describe.each(surfaces)('a replay that wrote an id needs no cursor block ($name)', ({ open }) => {
  it('and has none', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, {}, behind('e1:3'))
    await hearMarker(bus, stream)
    expect(stream.transcript.cursors).toEqual([])
  })

  it('also not where the number of an old epoch is the last one of this bus', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, {}, behind('e0:5'))
    await hearMarker(bus, stream)
    expect(stream.transcript.ids).toEqual([1, 2, 3, 4, 5, 6])
    expect(stream.transcript.cursors).toEqual([])
  })

  it('and a cursor of an old epoch, however high, keeps no heartbeat from telling how far the filter has gone', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    publishNotes(bus, 2)
    const options = { heartbeatMs: 100, filter: ({ id }: { id: number }) => id < 2 }
    const stream = await open(bus, options, behind('e0:500'))
    await heard(stream, (t) => t.control('replay_complete').length > 0)
    publishNotes(bus, 3)
    await settle()
    await clock.pass(250)
    await heard(stream, (t) => t.cursors.length > 0)
    expect(stream.transcript.cursor).toBe('e1:5')
  })
})

describe.each(surfaces)('with a heartbeat ($name)', ({ open }) => {
  it('a cursor block tells how far the filter has gone, once', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus, { heartbeatMs: 100, filter: ({ type }) => type !== 'note' })
    await heard(stream, (t) => t.cursors.length === 1)
    publishNotes(bus, 4)
    await clock.pass(250)
    await heard(stream, (t) => t.cursors.length === 2)
    await clock.pass(500)
    await hearMarker(bus, stream)
    expect(stream.transcript.cursors).toEqual(['e1:0', 'e1:4'])
    publishNotes(bus, 1)
    await clock.pass(250)
    await heard(stream, (t) => t.cursors.length === 3)
    expect(stream.transcript.cursors).toEqual(['e1:0', 'e1:4', 'e1:6'])
  })

  it('a cursor block tells how far `format` has gone', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const format = (frame: { type: string; id?: unknown }) =>
      frame.type === 'note' ? undefined : `id: e1:${frame.id}\ndata: 1\n\n`
    const stream = await open(bus, { heartbeatMs: 100, format })
    await heard(stream, (t) => t.cursors.length === 1)
    publishNotes(bus, 4)
    await settle()
    await clock.pass(250)
    await heard(stream, (t) => t.cursors.length === 2)
    expect(stream.transcript.cursors).toEqual(['e1:0', 'e1:4'])
  })

  it('there is none where the position has not run ahead', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus, { heartbeatMs: 100 })
    await heard(stream, (t) => t.cursors.length === 1)
    await clock.pass(550)
    publishNotes(bus, 2)
    await heard(stream, (t) => t.ids.length === 2)
    await clock.pass(550)
    await hearMarker(bus, stream)
    expect(stream.transcript.comments.length).toBeGreaterThanOrEqual(4)
    expect(stream.transcript.cursors).toEqual(['e1:0'])
  })

  it('it comes every 8 s where heartbeats are off', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus, { heartbeatMs: 0, filter: ({ type }) => type !== 'note' })
    await heard(stream, (t) => t.cursors.length === 1)
    publishNotes(bus, 4)
    await clock.pass(7900)
    await settle()
    expect(stream.transcript.cursors).toEqual(['e1:0'])
    await clock.pass(8200)
    await heard(stream, (t) => t.cursors.length === 2)
    expect(stream.transcript.cursors).toEqual(['e1:0', 'e1:4'])
    expect(stream.transcript.comments).toEqual([])
  })
})

describe.each(surfaces)('no cursor block is written ($name)', ({ open }) => {
  it('at the subscriber limit', async () => {
    const bus = makeBus({ maxSubscribers: 1 })
    await heard(await open(bus), (t) => t.cursors.length === 1)
    const refused = await open(bus)
    await ended(refused)
    expect(refused.transcript.cursors).toEqual([])
  })

  it.each(['none', 'e1:3', 'e1:5', 'junk'])('on a closed bus (cursor: %s)', async (cursor) => {
    const bus = makeBus()
    publishNotes(bus, 5)
    bus.close()
    const stream = await open(bus, {}, cursor === 'none' ? {} : behind(cursor))
    await ended(stream)
    expect(stream.status).toBe(200)
    expect(stream.transcript.cursors).toEqual([])
    expect(stream.transcript.ids).toEqual([])
  })
})
