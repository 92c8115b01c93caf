import { describe, expect, it } from 'vitest'
import { ended, heard } from '../support/http-client.ts'
import { hearMarker, makeBus, publishNotes, type SseOptions, surfaces } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

const resync = (data: Record<string, unknown>) => ({ state_resync_required: data })
const complete = (replayedCount: number, lastReplayedEventId?: number) => ({
  replay_complete: { replayedCount, ...(lastReplayedEventId === undefined ? {} : { lastReplayedEventId }) },
})

describe.each(surfaces)('a cursor in the request ($name)', ({ open }) => {
  const resumed = async (cursor: string, options: SseOptions = {}, path = '/') => {
    const bus = makeBus({ ringSize: 3 })
    publishNotes(bus, 5)
    const stream = await open(bus, options, { path, headers: { 'Last-Event-ID': cursor } })
    await heard(
      stream,
      (t) => t.control('replay_complete').length + t.control('state_resync_required').length > 0,
    )
    await hearMarker(bus, stream)
    return stream.transcript.said
  }

  it('resumes behind it', async () => {
    expect(await resumed('e1:3')).toEqual([
      'retry 3000',
      'e1:4 note',
      'e1:5 note',
      complete(2, 5),
      'e1:6 marker',
    ])
  })

  it('may be a bare number, whatever the adapter writes', async () => {
    expect(await resumed('3')).toEqual([
      'retry 3000',
      'e1:4 note',
      'e1:5 note',
      complete(2, 5),
      'e1:6 marker',
    ])
    expect(await resumed('e1:4', { cursor: 'id' })).toEqual([
      'retry 3000',
      '5 note',
      complete(1, 5),
      '6 marker',
    ])
  })

  it('of another epoch resyncs', async () => {
    expect(await resumed('e0:4')).toEqual([
      'retry 3000',
      resync({
        reason: 'epoch_reset',
        detail: 'epoch_mismatch',
        lastDeliveredId: 4,
        earliestAvailableId: 3,
        epoch: 'e1',
      }),
      'e1:3 note',
      'e1:4 note',
      'e1:5 note',
      complete(3, 5),
      'e1:6 marker',
    ])
  })

  it('that has left the ring is told so first', async () => {
    expect(await resumed('e1:1')).toEqual([
      'retry 3000',
      resync({ reason: 'ring_evicted', lastDeliveredId: 1, earliestAvailableId: 3, epoch: 'e1' }),
      'e1:3 note',
      'e1:4 note',
      'e1:5 note',
      complete(3, 5),
      'e1:6 marker',
    ])
  })

  it('silences `from`, which is for clients without one', async () => {
    expect(await resumed('e1:4', { from: 'earliest' })).toEqual([
      'retry 3000',
      'e1:5 note',
      complete(1, 5),
      'e1:6 marker',
    ])
  })

  it('may come in the query, where no header can be sent', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, {}, { path: '/events?x=1&lastEventId=e1%3A3' })
    await heard(stream, (t) => t.control('replay_complete').length === 1)
    expect(stream.transcript.ids).toEqual([4, 5])
  })

  it('is taken from the header where both are there, also from an invalid one', async () => {
    expect(await resumed('e1:4', {}, '/?lastEventId=e1:3')).toEqual([
      'retry 3000',
      'e1:5 note',
      complete(1, 5),
      'e1:6 marker',
    ])
    expect(await resumed('junk', {}, '/?lastEventId=e1:3')).toEqual([
      'retry 3000',
      resync({ reason: 'invalid_cursor', earliestAvailableId: 3, epoch: 'e1' }),
      'cursor e1:5',
      'e1:6 marker',
    ])
  })

  it('is looked for under `lastEventIdParam`, and under no other name', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const options = { lastEventIdParam: 'since' }
    const named = await open(bus, options, { path: '/?since=4' })
    await heard(named, (t) => t.control('replay_complete').length === 1)
    expect(named.transcript.ids).toEqual([5])
    const unnamed = await open(bus, options, { path: '/?lastEventId=4' })
    await hearMarker(bus, unnamed)
    expect(unnamed.transcript.said).toEqual(['retry 3000', 'cursor e1:5', 'e1:6 marker'])
  })

  it('that is empty is none', async () => {
    const bus = makeBus()
    publishNotes(bus, 5)
    const stream = await open(bus, {}, { headers: { 'Last-Event-ID': '' } })
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual(['retry 3000', 'cursor e1:5', 'e1:6 marker'])
    expect(bus.diagnostics).toEqual([])
  })
})

describe.each(surfaces)('an invalid cursor ($name)', ({ open }) => {
  const invalid = [
    '-1',
    '-0',
    '+1',
    '1.0',
    '1e3',
    '0x10',
    '1_000',
    '9007199254740992',
    '1'.repeat(400),
    '1abc',
    'NaN',
    'Infinity',
    'null',
    '5, 6',
    'abc:',
    ':5',
    'abc:05',
    'abc:5:6',
    'a b:5',
  ]

  it.each(invalid)('%s is live only and told, and `from` does not apply', async (value) => {
    const bus = makeBus({ ringSize: 3 })
    publishNotes(bus, 5)
    const stream = await open(bus, { from: 'earliest' }, { headers: { 'Last-Event-ID': value } })
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      resync({ reason: 'invalid_cursor', earliestAvailableId: 3, epoch: 'e1' }),
      'cursor e1:5',
      'e1:6 marker',
    ])
    expect(bus.diagnostics).toHaveLength(1)
    const [diagnostic] = bus.diagnostics
    expect(diagnostic).toMatchObject({ type: 'invalid_last_event_id', value: expect.any(String) })
    if (value.length < 50) expect(diagnostic).toMatchObject({ value })
  })

  it('in the query is one too', async () => {
    const bus = makeBus()
    const stream = await open(bus, {}, { path: '/?lastEventId=1%0D%0AX%3A%20y%00' })
    await hearMarker(bus, stream)
    expect(stream.transcript.control('state_resync_required')).toEqual([
      { reason: 'invalid_cursor', earliestAvailableId: 1, epoch: 'e1' },
    ])
    const [diagnostic] = bus.diagnostics
    expect(diagnostic?.type).toBe('invalid_last_event_id')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left in what is reported.
    expect((diagnostic as { value: string }).value).not.toMatch(/[\u0000-\u001f\u007f]/)
  })

  it('carries a bare number in its cursor block where the adapter writes such', async () => {
    const bus = makeBus()
    publishNotes(bus, 2)
    const stream = await open(bus, { cursor: 'id' }, { headers: { 'Last-Event-ID': 'x' } })
    await heard(stream, (t) => t.cursors.length > 0)
    expect(stream.transcript.cursors).toEqual(['2'])
  })
})

describe.each(surfaces)('a client without a cursor ($name)', ({ open }) => {
  it('hears what is published from now on', async () => {
    const bus = makeBus()
    publishNotes(bus, 3)
    const stream = await open(bus)
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 2)
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:3',
      'e1:4 note',
      'e1:5 note',
      'e1:6 marker',
    ])
  })

  it('is neither warned nor evicted while it keeps up, even with a queue of one', async () => {
    const bus = makeBus()
    const stream = await open(bus, { maxQueued: 1 })
    await heard(stream, (t) => t.cursors.length > 0)
    await settle()
    for (let n = 1; n <= 20; n++) {
      await hearMarker(bus, stream)
      await settle(1)
    }
    expect(bus.stats()).toMatchObject({ warned: 0, evicted: 0 })
  })

  it('hears what is retained with `from`', async () => {
    const bus = makeBus({ ringSize: 3 })
    publishNotes(bus, 5)
    const all = await open(bus, { from: 'earliest' })
    const two = await open(bus, { from: { last: 2 } })
    await heard(all, (t) => t.control('replay_complete').length > 0)
    await heard(two, (t) => t.control('replay_complete').length > 0)
    expect(all.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:2',
      'e1:3 note',
      'e1:4 note',
      'e1:5 note',
      complete(3, 5),
    ])
    expect(two.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:3',
      'e1:4 note',
      'e1:5 note',
      complete(2, 5),
    ])
  })

  it('that dropped before the first event resumes all the same', async () => {
    const bus = makeBus()
    publishNotes(bus, 7)
    const first = await open(bus)
    await heard(first, (t) => t.cursor !== undefined)
    first.leave()
    await until(() => bus.subscriberCount === 0)
    publishNotes(bus, 3)
    const second = await open(bus, {}, { headers: { 'Last-Event-ID': first.transcript.cursor as string } })
    await heard(second, (t) => t.control('replay_complete').length > 0)
    expect(second.transcript.ids).toEqual([8, 9, 10])
  })

  it('of a restarted process is told, though the numbers would fit', async () => {
    const before = makeBus({ epoch: 'before' })
    publishNotes(before, 50)
    const first = await open(before)
    await heard(first, (t) => t.cursor === 'before:50')
    before.close()
    await ended(first)
    const after = makeBus({ epoch: 'after' })
    publishNotes(after, 60)
    const second = await open(after, {}, { headers: { 'Last-Event-ID': first.transcript.cursor as string } })
    await heard(second, (t) => t.control('replay_complete').length > 0)
    expect(second.transcript.control('state_resync_required')).toMatchObject([
      { reason: 'epoch_reset', detail: 'epoch_mismatch', earliestAvailableId: 1, epoch: 'after' },
    ])
    expect(second.transcript.ids).toHaveLength(60)
  })
})
