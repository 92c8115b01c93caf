import { describe, expect, it } from 'vitest'
import { EventBus, type Frame } from '../../src/index.ts'
import { keptOf } from '../../src/internal/kept.ts'
import { parseCursor } from '../../src/last-event-id/index.ts'
import { cursorBlock, frameBlock } from '../../src/sse/block.ts'
import { formatSseCursor, formatSseFrame } from '../../src/sse/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { EPOCH } from '../support/frames.ts'
import { onlyEvent, read } from '../support/sse-stream.ts'

/** Data that counts how often it is made JSON. */
function counted(): { toJSON(): unknown; calls: number } {
  return {
    calls: 0,
    toJSON() {
      this.calls++
      return { calls: this.calls }
    },
  }
}

/** What is ready now. */
async function readyFrames(bus: EventBus, options: Parameters<EventBus['subscribe']>[0]): Promise<Frame[]> {
  const subscription = bus.subscribe(options)
  const frames: Frame[] = []
  while (true) {
    const frame = (await subscription.next()).value as Frame
    frames.push(frame)
    if (frame.type === 'replay_complete') break
  }
  await subscription.return?.()
  return frames
}

/** What a browser keeps of a stream, and sends back: the last id, whatever it held. */
function lastIdOf(text: string): string | undefined {
  return read(text).ids.at(-1)
}

describe('the frame of a bus', () => {
  it.each([{}, { maxRingBytes: 100_000 }])('keeps its JSON over every form (%j)', (caps) => {
    const data = counted()
    const event = new EventBus(caps).publish({ type: 'chunk', data })
    if (event === undefined) throw new Error('refused')
    const envelope = '{"id":1,"v":1,"type":"chunk","data":{"calls":1}}'
    for (const epoch of [undefined, 'abc', 'abc', 'def']) {
      expect(onlyEvent(formatSseFrame(event, { epoch })).data).toBe(envelope)
      expect(onlyEvent(formatSseFrame(event, { epoch, data: 'payload' })).data).toBe('{"calls":1}')
    }
    expect(data.calls).toBe(1)
  })

  it('shows what was published, though the publisher changed its object since, where the bus caps bytes', () => {
    const data = { x: 1 }
    const event = new EventBus({ maxRingBytes: 100_000 }).publish({ type: 'chunk', data, _meta: data })
    data.x = 99
    expect(onlyEvent(formatSseFrame(event as Frame)).data).toBe(
      '{"id":1,"v":1,"type":"chunk","data":{"x":1},"_meta":{"x":1}}',
    )
  })

  it('does not lend its JSON to a copy that differs', () => {
    const event = new EventBus().publish({ type: 'chunk', data: 1 }) as Frame
    formatSseFrame(event)
    expect(onlyEvent(formatSseFrame({ ...event, data: 2 } as Frame)).data).toBe(
      '{"id":1,"v":1,"type":"chunk","data":2}',
    )
  })

  it('is encoded afresh each time where it was written by hand', () => {
    const data = counted()
    const frame: Frame = { id: 1, v: 1, type: 'chunk', data }
    formatSseFrame(frame)
    formatSseFrame(frame)
    expect(data.calls).toBe(2)
  })

  it('has its keys in order, however they were published', () => {
    const event = new EventBus().publish({
      zebra: 1,
      _meta: { m: 1 },
      path: 'p',
      system: 's',
      originatorClientId: 'o',
      data: 'd',
      type: 'chunk',
    })
    expect(onlyEvent(formatSseFrame(event as Frame)).data).toBe(
      '{"id":1,"v":1,"type":"chunk","data":"d","originatorClientId":"o","system":"s","path":"p","_meta":{"m":1},"zebra":1}',
    )
  })
})

describe('what the servers write without a check is what the formatter writes', () => {
  const types = ['chunk', 'error', 'open', 'a b', 'constructor']
  const forms = (['envelope', 'payload'] as const).flatMap((data) =>
    [true, false].flatMap((event) => [undefined, 'abc'].map((epoch) => ({ data, event, epoch }))),
  )

  it.each(forms)('for every frame of a bus: %j', async (form) => {
    const bus = new EventBus({ ringSize: types.length - 1 })
    for (const type of types) bus.publish({ type, data: { text: '\r\n' }, path: 'p' })
    const frames = await readyFrames(bus, { lastEventId: 0 })
    expect(frames.map(({ type }) => type)).toEqual([
      'state_resync_required',
      ...types.slice(1),
      'replay_complete',
    ])
    for (const frame of frames)
      expect(frameBlock(frame, keptOf(frame), form)).toBe(formatSseFrame(frame, form))
  })

  it('and for a cursor', () => {
    expect(cursorBlock(7, undefined)).toBe(formatSseCursor({ id: 7 }))
    expect(cursorBlock(7, 'abc')).toBe(formatSseCursor({ id: 7, epoch: 'abc' }))
  })
})

describe('an epoch in the id survives a client that only sends back what it got', () => {
  it('resumes on the same bus', async () => {
    const bus = busWith(12, { epoch: 'abc' })
    const frames = await readyFrames(bus, { from: 'earliest' })
    const sentBack = lastIdOf(frames.map((frame) => formatSseFrame(frame, { epoch: bus.epoch })).join(''))
    expect(sentBack).toBe('abc:12')
    const { id, epoch } = parseCursor(sentBack) ?? {}
    publish(bus, 1)
    const resumed = await readyFrames(bus, { lastEventId: id, epoch })
    expect(resumed.map((frame) => frame.id ?? frame.type)).toEqual([13, 'replay_complete'])
  })

  it('is told of the restart on a bus that counts from 1 again and is past the cursor', async () => {
    const successor = busWith(60, { epoch: 'def' })
    const { id, epoch } = parseCursor('abc:50') ?? {}
    const [first, second] = await readyFrames(successor, { lastEventId: id, epoch })
    expect(first).toMatchObject({ type: 'state_resync_required', data: { reason: 'epoch_reset' } })
    expect(second?.id).toBe(1)
  })

  it('goes by the number alone where the id has no epoch', async () => {
    const bus = busWith(12, { epoch: 'abc' })
    const sentBack = lastIdOf(formatSseFrame((await readyFrames(bus, { from: { last: 1 } }))[0] as Frame))
    expect(parseCursor(sentBack)).toEqual({ id: 12 })
  })
})

describe('a client that dropped before its first event', () => {
  it('has a cursor by the cursor block, and resumes without a gap', async () => {
    const bus = busWith(7)
    const stream = formatSseCursor({ id: bus.lastEventId, epoch: bus.epoch })
    const sentBack = lastIdOf(stream)
    expect(sentBack).toBe(`${EPOCH}:7`)
    publish(bus, 3)
    const { id, epoch } = parseCursor(sentBack) ?? {}
    const resumed = await readyFrames(bus, { lastEventId: id, epoch })
    expect(resumed.map((frame) => frame.id ?? frame.type)).toEqual([8, 9, 10, 'replay_complete'])
  })

  it('has none by control frames, comments and heartbeats', () => {
    const complete: Frame = { v: 1, type: 'replay_complete', data: { replayedCount: 0 } }
    expect(lastIdOf(formatSseFrame(complete, { epoch: EPOCH }))).toBeUndefined()
  })
})
