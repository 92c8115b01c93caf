import { describe, expect, it } from 'vitest'
import { ended, heard } from '../support/http-client.ts'
import { hearMarker, makeBus, publishNotes, type SseOptions, surfaces } from '../support/http-surfaces.ts'

const behind = (cursor: string) => ({ headers: { 'Last-Event-ID': cursor } })
type Format = NonNullable<SseOptions['format']>

describe.each(surfaces)('what is written ($name)', ({ open }) => {
  it('is the envelope, with id and event, by default', async () => {
    const bus = makeBus()
    const stream = await open(bus, { retryMs: 0 }, behind('e1:0'))
    await heard(stream, (t) => t.cursors.length > 0)
    const from = stream.transcript.text.length
    bus.publish({
      type: 'note',
      data: { text: 'a\nb €' },
      originatorClientId: 'me',
      _meta: { k: 1 },
      extra: true,
    })
    await heard(stream, (t) => t.ids.length === 1)
    expect(stream.transcript.text.slice(from)).toBe(
      'id: e1:1\nevent: note\ndata: {"id":1,"v":1,"type":"note","data":{"text":"a\\nb €"},' +
        '"originatorClientId":"me","_meta":{"k":1},"extra":true}\n\n',
    )
  })

  it('is the payload alone with `data: payload`, but control frames keep their names', async () => {
    const bus = makeBus()
    publishNotes(bus, 1, { jsonrpc: '2.0' })
    const stream = await open(bus, { data: 'payload', retryMs: 0, cursor: 'id' }, behind('0'))
    await heard(stream, (t) => t.control('replay_complete').length > 0)
    expect(stream.transcript.text).toBe(
      'id: 1\ndata: {"jsonrpc":"2.0"}\n\n' +
        'event: replay_complete\ndata: {"replayedCount":1,"lastReplayedEventId":1}\n\n',
    )
  })

  it('has an event line or none, as `event` says', async () => {
    const bus = makeBus()
    publishNotes(bus, 1, 1)
    const without = await open(bus, { event: false, from: 'earliest' })
    const withOne = await open(bus, { event: true, data: 'payload', from: 'earliest' })
    await heard(without, (t) => t.ids.length > 0)
    await heard(withOne, (t) => t.ids.length > 0)
    expect(without.transcript.text).toContain('id: e1:1\ndata: {')
    expect(withOne.transcript.text).toContain('id: e1:1\nevent: note\ndata: 1\n\n')
  })

  it('never names an event `error` or `open`, which would reach a page’s connection handlers', async () => {
    const bus = makeBus()
    const stream = await open(bus, { event: true })
    await heard(stream, (t) => t.cursors.length > 0)
    bus.publish({ type: 'error', data: 1 })
    bus.publish({ type: 'open', data: 1 })
    await heard(stream, (t) => t.ids.length === 2)
    expect(stream.transcript.blocks.map(({ event }) => event)).toEqual([undefined, undefined])
    expect(stream.transcript.payloads).toMatchObject([{ type: 'error' }, { type: 'open' }])
  })

  it('shows a slow client’s warning, unless `warnings` is false', async () => {
    for (const warnings of [true, false]) {
      const bus = makeBus()
      const stream = await open(bus, { warnings, maxQueued: 8 })
      await heard(stream, (t) => t.cursors.length > 0)
      // All in one turn, so that nothing can be taken in between; one of them may be handed over at once.
      publishNotes(bus, 8)
      await hearMarker(bus, stream)
      expect(stream.transcript.control('slow_client_warning')).toHaveLength(warnings ? 1 : 0)
    }
  })

  it('is null where JSON gives nothing', async () => {
    const bus = makeBus()
    const stream = await open(bus, { data: 'payload' })
    await heard(stream, (t) => t.cursors.length > 0)
    for (const data of [undefined, () => 1, Symbol('s'), { toJSON: () => undefined }])
      bus.publish({ type: 'x', data })
    await heard(stream, (t) => t.ids.length === 4)
    expect(stream.transcript.payloads).toEqual([null, null, null, null])
  })

  it('is what `format` makes of a frame, control frames too; undefined leaves it out', async () => {
    const bus = makeBus()
    publishNotes(bus, 3)
    const format: Format = (frame) => {
      if (frame.id === undefined) return `event: control\ndata: "${frame.type}"\n\n`
      return frame.id === 2 ? undefined : `id: ${frame.id}\ndata: "mine"\n\n`
    }
    const stream = await open(bus, { format }, behind('e1:0'))
    await heard(stream, (t) => t.blocks.length >= 3)
    expect(stream.transcript.said).toEqual(['retry 3000', '1 message', '3 message', 'no id: control'])
  })

  it('goes on when `format` throws, and the bus is told', async () => {
    const bus = makeBus()
    const failure = new Error('format failed')
    const format: Format = (frame) => {
      if ((frame.type as string) === 'bad') throw failure
      return `id: e1:${frame.id}\ndata: 1\n\n`
    }
    const stream = await open(bus, { format })
    await heard(stream, (t) => t.cursors.length > 0)
    bus.publish({ type: 'bad' })
    bus.publish({ type: 'good' })
    await heard(stream, (t) => t.ids.includes(2))
    expect(bus.diagnostics).toContainEqual({ type: 'callback_error', error: failure })
  })
})

describe.each(surfaces)('a callback that acts on the bus while a frame is made ($name)', ({ open }) => {
  const acting = (act: (id: number) => void): Format => {
    const seen = new Set<unknown>()
    return (frame) => {
      const { id } = frame
      if (id !== undefined && !seen.has(id)) {
        seen.add(id)
        act(id as number)
      }
      return id === undefined ? undefined : `id: ${id}\ndata: 1\n\n`
    }
  }

  it('may publish: what it publishes comes behind', async () => {
    const bus = makeBus()
    const stream = await open(bus, { format: acting((id) => id < 5 && publishNotes(bus, 1)) })
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 1)
    await heard(stream, (t) => t.ids.length === 5)
    expect(stream.transcript.ids).toEqual([1, 2, 3, 4, 5])
  })

  it('may close the bus: the stream ends', async () => {
    const bus = makeBus()
    const stream = await open(bus, { format: acting(() => bus.close()) })
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 1)
    await ended(stream)
    expect(stream.transcript.ids).toEqual([1])
  })

  it('may abort its own stream', async () => {
    const bus = makeBus()
    const controller = new AbortController()
    const stream = await open(bus, { format: acting(() => controller.abort()), signal: controller.signal })
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 3)
    await ended(stream)
    expect(bus.subscriberCount).toBe(0)
  })
})
