import { describe, expect, it } from 'vitest'
import { heard } from '../support/http-client.ts'
import {
  hearMarker,
  makeBus,
  nodeHttp1,
  publishNotes,
  type SseOptions,
  surfaces,
  web,
} from '../support/http-surfaces.ts'
import { idsFrom } from '../support/http-transcript.ts'

const behind = (cursor: string) => ({ headers: { 'Last-Event-ID': cursor } })
type Format = NonNullable<SseOptions['format']>

describe.each(surfaces)('an event that JSON cannot carry ($name)', ({ open }) => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const unserialisable = {
    bigint: 1n,
    circular,
    'toJSON that throws': {
      toJSON() {
        throw new Error('no')
      },
    },
    'getter that throws': {
      get x() {
        throw new Error('no')
      },
    },
  }

  it.each(Object.entries(unserialisable))('(%s) is replaced, and the stream goes on', async (_name, data) => {
    const bus = makeBus()
    const stream = await open(bus)
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 1)
    bus.publish({ type: 'bad', data })
    publishNotes(bus, 1)
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:0',
      'e1:1 note',
      {
        state_resync_required: {
          reason: 'not_serialisable',
          lastDeliveredId: 1,
          earliestAvailableId: 3,
          epoch: 'e1',
        },
      },
      'cursor e1:2',
      'e1:3 note',
      'e1:4 marker',
    ])
  })

  it('is replaced in a replay too, and reported once', async () => {
    const bus = makeBus()
    bus.publish({ type: 'bad', data: 1n })
    publishNotes(bus, 1)
    for (let client = 0; client < 3; client++) {
      const stream = await open(bus, {}, behind('e1:0'))
      await heard(stream, (t) => t.control('replay_complete').length > 0)
      expect(stream.transcript.said.slice(1, 4)).toEqual([
        {
          state_resync_required: {
            reason: 'not_serialisable',
            lastDeliveredId: 0,
            earliestAvailableId: 2,
            epoch: 'e1',
          },
        },
        'cursor e1:1',
        'e1:2 note',
      ])
    }
    expect(bus.diagnostics.filter(({ type }) => type === 'event_not_serialisable')).toEqual([
      { type: 'event_not_serialisable', id: 1, eventType: 'bad' },
    ])
  })

  it('is refused at publish where bytes are capped', async () => {
    const bus = makeBus({ maxRingBytes: 1_000_000 })
    const stream = await open(bus)
    await heard(stream, (t) => t.cursors.length > 0)
    expect(bus.publish({ type: 'bad', data: 1n })).toBe(undefined)
    await hearMarker(bus, stream)
    expect(stream.transcript.said).toEqual(['retry 3000', 'cursor e1:0', 'e1:1 marker'])
  })
})

describe.each([nodeHttp1, web])('an event for ten subscribers ($name)', ({ open }) => {
  it('is made JSON of once, live and replayed, as envelope and as payload', async () => {
    const bus = makeBus()
    let calls = 0
    const data = {
      toJSON() {
        calls++
        return { calls }
      },
    }
    const streams = await Promise.all(
      idsFrom(1, 10).map((n) => open(bus, n % 2 === 0 ? { data: 'payload' } : { cursor: 'id' })),
    )
    await Promise.all(streams.map((stream) => heard(stream, (t) => t.cursors.length > 0)))
    for (let n = 0; n < 5; n++) bus.publish({ type: 'note', data })
    await Promise.all(streams.map((stream) => heard(stream, (t) => t.ids.length === 5)))
    const late = await open(bus, {}, behind('e1:0'))
    await heard(late, (t) => t.ids.length === 5)
    expect(calls).toBe(5)
  })

  it('is formatted once by each format function, live and replayed', async () => {
    const bus = makeBus()
    const calls: Record<string, number> = {}
    const counting =
      (name: string): Format =>
      (frame) => {
        if (frame.id !== undefined) calls[`${name} ${frame.id}`] = (calls[`${name} ${frame.id}`] ?? 0) + 1
        return `${frame.id === undefined ? '' : `id: ${frame.id}\n`}data: "${name}"\n\n`
      }
    const [one, two] = [counting('one'), counting('two')]
    const streams = await Promise.all(
      idsFrom(1, 10).map((n) => open(bus, { format: n % 2 === 0 ? one : two })),
    )
    await Promise.all(streams.map((stream) => heard(stream, (t) => t.cursors.length > 0)))
    publishNotes(bus, 3)
    await Promise.all(streams.map((stream) => heard(stream, (t) => t.ids.length === 3)))
    const late = await open(bus, { format: one }, behind('e1:0'))
    await heard(late, (t) => t.ids.length === 3)
    expect(calls).toEqual({ 'one 1': 1, 'one 2': 1, 'one 3': 1, 'two 1': 1, 'two 2': 1, 'two 3': 1 })
    expect(new Set(streams.flatMap((stream) => stream.transcript.payloads))).toEqual(new Set(['one', 'two']))
  })

  it('is formatted once by each, however many format functions there are', async () => {
    const bus = makeBus()
    let calls = 0
    const formats = idsFrom(1, 8).map(
      (n): Format =>
        (frame) => {
          if (frame.id !== undefined) calls++
          return `${frame.id === undefined ? '' : `id: ${frame.id}\n`}data: ${n}\n\n`
        },
    )
    const streams = await Promise.all([...formats, ...formats].map((format) => open(bus, { format })))
    await Promise.all(streams.map((stream) => heard(stream, (t) => t.cursors.length > 0)))
    publishNotes(bus, 3)
    await Promise.all(streams.map((stream) => heard(stream, (t) => t.ids.length === 3)))
    expect(calls).toBe(8 * 3)
  })

  it('shows the value it had when it was published, where bytes are capped', async () => {
    const bus = makeBus({ maxQueuedBytes: 1_000_000 })
    const stream = await open(bus)
    await heard(stream, (t) => t.cursors.length > 0)
    const data = { x: 1 }
    bus.publish({ type: 'note', data })
    data.x = 99
    await heard(stream, (t) => t.ids.length === 1)
    const late = await open(bus, {}, behind('e1:0'))
    await heard(late, (t) => t.ids.length === 1)
    expect([stream, late].map(({ transcript }) => transcript.payloads[0])).toMatchObject([
      { data: { x: 1 } },
      { data: { x: 1 } },
    ])
  })
})
