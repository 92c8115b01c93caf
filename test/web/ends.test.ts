import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ended, heard } from '../support/http-client.ts'
import { type CloseInfo, hearMarker, makeBus, publishNotes, surfaces } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

const behind = (cursor: string) => ({ headers: { 'Last-Event-ID': cursor } })

describe.each(surfaces)('a bus that closes ($name)', ({ open }) => {
  it('ends each stream behind what was published before', async () => {
    const bus = makeBus()
    const streams = [await open(bus), await open(bus), await open(bus)]
    for (const stream of streams) await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 2)
    bus.close()
    for (const stream of streams) {
      await ended(stream)
      expect(stream.transcript.said).toEqual(['retry 3000', 'cursor e1:0', 'e1:1 note', 'e1:2 note'])
    }
    expect(bus.subscriberCount).toBe(0)
  })

  it('drops what is queued with `drain: false`, and ends each stream all the same', async () => {
    const bus = makeBus()
    const stream = await open(bus)
    await heard(stream, (t) => t.cursors.length > 0)
    bus.close({ drain: false })
    await ended(stream)
  })

  it('answers a request that comes later with 200 and the end', async () => {
    const bus = makeBus()
    publishNotes(bus, 2)
    bus.close()
    for (const request of [{}, behind('e1:2'), behind('e1:0'), behind('junk')]) {
      const stream = await open(bus, {}, request)
      await ended(stream)
      expect(stream.status).toBe(200)
      expect(stream.headers.get('content-type')).toBe('text/event-stream')
      expect(stream.transcript.ids).toEqual([])
    }
  })
})

describe.each(surfaces)('a bus that has ended ($name)', ({ open }) => {
  const endedBus = () => {
    const bus = makeBus()
    publishNotes(bus, 3)
    bus.end()
    return bus
  }

  it('ends its live streams behind the last event', async () => {
    const bus = makeBus()
    const stream = await open(bus)
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 3)
    bus.end()
    await ended(stream)
    expect(stream.transcript.ids).toEqual([1, 2, 3])
  })

  it.each(['3', 'e1:3'])(
    'answers a cursor at its head (%s) with 204, which stops an EventSource',
    async (cursor) => {
      const stream = await open(endedBus(), {}, behind(cursor))
      await ended(stream)
      expect(stream.status).toBe(204)
      expect(stream.transcript.text).toBe('')
    },
  )

  it('answers one in the query so, too', async () => {
    expect((await open(endedBus(), {}, { path: '/?lastEventId=e1:3' })).status).toBe(204)
  })

  it('is resumed like any other, and then ends', async () => {
    const stream = await open(endedBus(), {}, behind('e1:1'))
    await ended(stream)
    expect(stream.status).toBe(200)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      'e1:2 note',
      'e1:3 note',
      { replay_complete: { replayedCount: 2, lastReplayedEventId: 3 } },
    ])
  })

  it.each([
    ['e0:3', 'epoch_mismatch'],
    ['e1:9', undefined],
    ['9', undefined],
  ])('replays all to %s, and then ends', async (cursor, detail) => {
    const stream = await open(endedBus(), {}, behind(cursor))
    await ended(stream)
    expect(stream.status).toBe(200)
    const [resync] = stream.transcript.control('state_resync_required')
    expect(resync?.reason).toBe('epoch_reset')
    expect(resync?.detail).toBe(detail)
    expect(stream.transcript.ids).toEqual([1, 2, 3])
  })

  it('gives a client without a cursor the cursor block and the end, so that its next request gets 204', async () => {
    const bus = endedBus()
    const stream = await open(bus)
    await ended(stream)
    expect(stream.status).toBe(200)
    expect(stream.transcript.said).toEqual(['retry 3000', 'cursor e1:3'])
    expect((await open(bus, {}, behind(stream.transcript.cursor as string))).status).toBe(204)
  })

  it('still replays to a client without a cursor that has `from`', async () => {
    const stream = await open(endedBus(), { from: 'earliest' })
    await ended(stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:0',
      'e1:1 note',
      'e1:2 note',
      'e1:3 note',
      { replay_complete: { replayedCount: 3, lastReplayedEventId: 3 } },
    ])
  })
})

describe.each(surfaces)('at the subscriber limit ($name)', ({ open }) => {
  const crowded = async () => {
    const bus = makeBus({ maxSubscribers: 2 })
    const streams = [await open(bus), await open(bus)]
    for (const stream of streams) await heard(stream, (t) => t.cursors.length > 0)
    return { bus, streams }
  }

  it('a client is told, and asked to come back in about 15 s', async () => {
    const { bus } = await crowded()
    const refused = await open(bus)
    await ended(refused)
    expect(refused.status).toBe(200)
    const [retry, error, ...rest] = refused.transcript.items
    expect(rest).toEqual([])
    expect(retry?.kind).toBe('retry')
    const ms = retry?.kind === 'retry' ? retry.ms : 0
    expect(ms).toBeGreaterThanOrEqual(10_000)
    expect(ms).toBeLessThanOrEqual(20_000)
    expect(error).toMatchObject({ kind: 'block', event: 'stream_error' })
    expect(refused.transcript.control('stream_error')).toEqual([
      { code: 'subscriber_limit_exceeded', error: expect.any(String) },
    ])
  })

  it('it gets 503 with Retry-After and no stream where `onLimit` says `status`', async () => {
    const { bus } = await crowded()
    const closes: CloseInfo[] = []
    const refused = await open(bus, { onLimit: 'status', onClose: (info) => closes.push(info) })
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(refused.headers.get('content-type') ?? '').not.toContain('event-stream')
    await settle()
    expect(refused.transcript.items).toEqual([])
  })

  it('those who are in stay in, however often others knock', async () => {
    const { bus, streams } = await crowded()
    for (let knock = 0; knock < 30; knock++) {
      const refused = await open(bus, { onLimit: knock % 2 === 0 ? 'status' : 'frame', retryMs: 10 })
      await until(() => refused.ended || refused.torn || refused.status === 503)
    }
    for (const stream of streams) {
      await hearMarker(bus, stream)
      expect(stream.ended || stream.torn).toBe(false)
    }
    expect(bus.stats().evicted).toBe(0)
  })

  it('a place that became free is given away again', async () => {
    const { bus, streams } = await crowded()
    streams[0]?.leave()
    await until(() => bus.subscriberCount === 1)
    const next = await open(bus)
    await hearMarker(bus, next)
  })
})

describe.each(surfaces)('the `signal` of a stream ($name)', ({ open }) => {
  it('ends this stream and no other', async () => {
    const bus = makeBus()
    const controller = new AbortController()
    const one = await open(bus, { signal: controller.signal })
    const other = await open(bus)
    for (const stream of [one, other]) await heard(stream, (t) => t.cursors.length > 0)
    controller.abort()
    await ended(one)
    expect(one.transcript.said).toEqual(['retry 3000', 'cursor e1:0'])
    expect(bus.subscriberCount).toBe(1)
    await hearMarker(bus, other)
  })

  it('says why, where its reason is `{ code, error }`', async () => {
    const bus = makeBus()
    const controller = new AbortController()
    const stream = await open(bus, { signal: controller.signal })
    await heard(stream, (t) => t.cursors.length > 0)
    controller.abort({ code: 'logged_out', error: 'You have been logged out' })
    await ended(stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:0',
      { stream_error: { code: 'logged_out', error: 'You have been logged out' } },
    ])
  })

  it('says nothing for any other reason', async () => {
    const bus = makeBus()
    for (const reason of ['gone', null, 7, { code: 7, error: 'x' }, { code: 'x' }, new Error('secret')]) {
      const controller = new AbortController()
      const stream = await open(bus, { signal: controller.signal })
      await heard(stream, (t) => t.cursors.length > 0)
      controller.abort(reason)
      await ended(stream)
      expect(stream.transcript.blocks, String(reason)).toEqual([])
    }
  })

  it('that was aborted before leaves a head and an end, and subscribes nobody', async () => {
    const bus = makeBus()
    const stream = await open(bus, { signal: AbortSignal.abort({ code: 'late', error: 'Too late' }) })
    await ended(stream)
    expect(stream.status).toBe(200)
    expect(stream.transcript.control('stream_error')).toEqual([{ code: 'late', error: 'Too late' }])
    expect(bus.subscriberCount).toBe(0)
  })

  it('has no listener left, however the stream ended', async () => {
    const bus = makeBus()
    const controller = new AbortController()
    for (const end of ['leave', 'evict', 'close'] as const) {
      const stream = await open(bus, { signal: controller.signal })
      await heard(stream, (t) => t.cursors.length > 0)
      expect(getEventListeners(controller.signal, 'abort').length).toBeGreaterThan(0)
      if (end === 'leave') stream.leave()
      if (end === 'evict') publishNotes(bus, 1000)
      if (end === 'close') bus.close()
      await until(() => getEventListeners(controller.signal, 'abort').length === 0, 'no abort listener')
    }
  })
})
