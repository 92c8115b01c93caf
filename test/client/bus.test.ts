import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connectBus, type SseOptions } from '../../src/client/index.ts'
import type { Frame } from '../../src/index.ts'
import { controlText, cursorText, eventText, fakeServer, pass } from '../support/client-server.ts'
import { type Notation, notationOf } from '../support/frames.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A client that is read all the time. */
function reading(options: SseOptions = {}) {
  const server = fakeServer()
  const frames: Frame[] = []
  const errors: [string, string | undefined, string | undefined][] = []
  const stream = connectBus('http://test/', {
    fetch: server.fetch,
    retryMs: 0,
    onError: (error, { id, cursor }) => errors.push([error.name, id, cursor]),
    ...options,
  })
  const over = (async () => {
    for await (const frame of stream) frames.push(frame)
  })()
  return {
    server,
    stream,
    frames,
    errors,
    over,
    /** What came of a text on the open connection, or on the first one. */
    async shown(text: string): Promise<Notation[]> {
      const before = frames.length
      const exchange = await server.latest()
      if (stream.readyState === 0) exchange.answer(text)
      else exchange.send(text)
      await server.latest()
      return frames.slice(before).map(notationOf)
    },
    /** Ends the connection; the cursor that the next one brings. */
    async cut(): Promise<string | undefined> {
      ;(await server.latest()).end()
      await server.latest()
      await pass(0)
      return (await server.latest()).lastEventId
    },
  }
}

type Resync = Partial<Extract<Frame, { type: 'state_resync_required' }>['data']>

const resyncText = (data: Resync) =>
  controlText('state_resync_required', { reason: 'ring_evicted', epoch: 'e1', ...data })

/** The frame that the client makes itself. */
const madeResync = (lastDeliveredId: number, earliestAvailableId: number, epoch: string): Notation => ({
  type: 'state_resync_required',
  reason: 'epoch_reset',
  lastDeliveredId,
  earliestAvailableId,
  epoch,
  detail: 'epoch_mismatch',
})

describe('frames', () => {
  test('are the envelopes as they were sent, the ids and control frames included', async () => {
    const { shown, frames, stream } = reading()
    await shown(
      `id: e1:7\nevent: chunk\ndata: {"id":7,"v":1,"type":"chunk","data":{"a":1},"path":"p","more":[1]}\n\n${controlText('replay_complete', { replayedCount: 1 })}`,
    )
    expect(frames).toEqual([
      { id: 7, v: 1, type: 'chunk', data: { a: 1 }, path: 'p', more: [1] },
      { v: 1, type: 'replay_complete', data: { replayedCount: 1 } },
    ])
    stream.close()
  })

  test('need no event line, nor an id', async () => {
    const { shown, stream } = reading()
    expect(await shown('id: 3\ndata: {"id":3,"v":1,"type":"error","data":null}\n\n')).toEqual([3])
    expect(await shown('data: {"id":4,"v":1,"type":"x","data":null}\n\n')).toEqual([4])
    expect(stream.cursor).toBe('3')
    stream.close()
  })

  test('are the reader’s own to change', async () => {
    const { shown, frames, stream } = reading()
    await shown(eventText(1))
    expect(Object.isFrozen(frames[0])).toBe(false)
    stream.close()
  })
})

describe('duplicates', () => {
  test('at or below the cursor are dropped within one epoch, and the cursor stays', async () => {
    const { shown, cut, stream } = reading({ lastEventId: 'e1:5' })
    expect(await shown([4, 5, 6, 6, 5, 7].map((id) => eventText(id)).join(''))).toEqual([6, 7])
    expect(await shown(cursorText('e1:3'))).toEqual([])
    expect(stream.cursor).toBe('e1:7')
    expect(await cut()).toBe('e1:7')
    expect(await shown(eventText(7) + eventText(8))).toEqual([8])
    stream.close()
  })

  test('are told by bare ids too', async () => {
    const bare = (id: number) => eventText(id).replace('e1:', '')
    const { shown, stream } = reading({ lastEventId: 5 })
    expect(await shown(bare(5) + bare(6) + bare(6) + bare(10))).toEqual([6, 10])
    stream.close()
  })

  test.each([1, 10, 11, 12, 13, 24, 64])(
    'are told by an epoch of %d characters, from any other',
    async (length) => {
      const epoch = 'e'.repeat(length)
      for (const at of [0, length >> 1, length - 1]) {
        const other = `${epoch.slice(0, at)}o${epoch.slice(at + 1)}`
        const { shown, stream } = reading({ lastEventId: `${epoch}:7` })
        const text = eventText(8, epoch) + eventText(9, epoch) + eventText(9, epoch) + eventText(10, other)
        expect(await shown(text)).toEqual([8, 9, madeResync(9, 10, other), 10])
        stream.close()
      }
    },
  )

  test('are compared as numbers', async () => {
    const { shown, stream } = reading()
    expect(await shown(eventText(9) + eventText(10) + eventText(9) + eventText(100))).toEqual([9, 10, 100])
    stream.close()
  })

  test('are none behind a cursor whose epoch is not known', async () => {
    const { shown, stream } = reading({ lastEventId: 50 })
    expect(await shown(eventText(3))).toEqual([3])
    stream.close()
  })

  test('are none among ids that are no cursors of a bus', async () => {
    const { shown, stream } = reading()
    const opaque = (id: string) => `id: ${id}\ndata: {"v":1,"type":"x","data":0}\n\n`
    const ids = ['b', 'a', 'a', '90071992547409931', '90071992547409930', 'e:1:2', '-1', '1.5']
    expect((await shown(ids.map(opaque).join(''))).length).toBe(ids.length)
    expect(stream.cursor).toBe('1.5')
    stream.close()
  })

  test('are none among control frames', async () => {
    const { shown, stream } = reading()
    const complete = controlText('replay_complete', { replayedCount: 0 })
    expect((await shown(complete + complete)).length).toBe(2)
    stream.close()
  })
})

describe('the cursor', () => {
  test('moves with a cursor block, a lone id and an empty primer, which show nothing', async () => {
    const { shown, cut, stream, errors } = reading()
    expect(await shown(cursorText('e1:4'))).toEqual([])
    expect(await cut()).toBe('e1:4')
    expect(await shown('id: e1:5\n\n')).toEqual([])
    expect(await cut()).toBe('e1:5')
    expect(await shown('id: e1:6\ndata:\n\n')).toEqual([])
    expect(await cut()).toBe('e1:6')
    expect(await shown(controlText('replay_complete', { replayedCount: 0 }))).not.toEqual([])
    expect(await cut()).toBe('e1:6')
    expect(errors).toEqual([])
    stream.close()
  })

  test('is sent as the server wrote it', async () => {
    const { shown, cut, stream } = reading()
    await shown('id: 0007\ndata: {"v":1,"type":"x","data":0}\n\n')
    expect(await cut()).toBe('0007')
    stream.close()
  })
})

describe('a resync frame', () => {
  test.each<[string, string | undefined, Resync, string | undefined]>([
    ['up', 'e1:5', { earliestAvailableId: 11 }, 'e1:10'],
    ['down', 'e1:50', { earliestAvailableId: 3, reason: 'epoch_reset' }, 'e1:2'],
    ['into another epoch', 'e0:50', { earliestAvailableId: 1, reason: 'epoch_reset' }, 'e1:0'],
    ['where there was none', undefined, { earliestAvailableId: 4 }, 'e1:3'],
    [
      'behind what JSON could not carry',
      'e1:5',
      { earliestAvailableId: 7, reason: 'not_serialisable' },
      'e1:6',
    ],
    ['not at all where it is incomplete', 'e1:5', {}, 'e1:5'],
    ['not at all where the epoch is none', 'e1:5', { earliestAvailableId: 9, epoch: 'a b' }, 'e1:5'],
    ['not at all where the epoch is no text', 'e1:5', { earliestAvailableId: 9, epoch: 1 as never }, 'e1:5'],
    ['not at all where the id is none', 'e1:5', { earliestAvailableId: 0 }, 'e1:5'],
    [
      'not at all where the cursor was invalid',
      'what',
      { earliestAvailableId: 9, reason: 'invalid_cursor' },
      'what',
    ],
  ])('moves it %s', async (_, from, data, to) => {
    const { shown, cut, frames, stream } = reading({ lastEventId: from })
    expect((await shown(resyncText(data))).length).toBe(1)
    expect(stream.cursor).toBe(to)
    // A cut right behind it announces nothing twice.
    expect(await cut()).toBe(to)
    expect(frames.length).toBe(1)
    stream.close()
  })

  test('lets the events behind it pass, whatever was seen before', async () => {
    const { shown, stream } = reading({ lastEventId: 'e0:50' })
    const text =
      resyncText({ earliestAvailableId: 2, reason: 'epoch_reset' }) +
      eventText(2) +
      eventText(3) +
      eventText(2)
    expect((await shown(text)).slice(1)).toEqual([2, 3])
    stream.close()
  })

  test('from a server with bare ids leaves a bare cursor', async () => {
    const { shown, cut, stream } = reading()
    await shown(cursorText('5') + resyncText({ earliestAvailableId: 11 }))
    expect(await cut()).toBe('10')
    expect(await shown(cursorText('12') + resyncText({ earliestAvailableId: 2, epoch: 'e2' }))).toHaveLength(
      1,
    )
    expect(await cut()).toBe('1')
    expect(await shown(eventText(2).replace('e1:', ''))).toEqual([2])
    stream.close()
  })

  test('that is nonsense is handed out and changes nothing', async () => {
    const { shown, stream, errors } = reading({ lastEventId: 'e1:5' })
    await shown(
      'data: {"v":1,"type":"state_resync_required"}\n\ndata: {"v":1,"type":"state_resync_required","data":null}\n\n',
    )
    expect([stream.cursor, stream.readyState, errors]).toEqual(['e1:5', 1, []])
    stream.close()
  })

  test('with an id is an event', async () => {
    const { shown, stream } = reading({ lastEventId: 'e1:5' })
    await shown(`id: e1:6\n${resyncText({ earliestAvailableId: 50 })}`)
    expect(stream.cursor).toBe('e1:6')
    stream.close()
  })
})

describe('a new epoch that nobody announced', () => {
  test('in an event surfaces as one resync before it', async () => {
    const { shown, cut, stream } = reading()
    expect(
      await shown(eventText(50) + eventText(60, 'e2') + eventText(61, 'e2') + eventText(3, 'e3')),
    ).toEqual([50, madeResync(50, 60, 'e2'), 60, 61, madeResync(61, 3, 'e3'), 3])
    expect(await cut()).toBe('e3:3')
    stream.close()
  })

  test('in a cursor block surfaces as one resync, and what it is behind is not available', async () => {
    const { shown, stream } = reading()
    expect(await shown(eventText(50) + cursorText('e2:60') + eventText(61, 'e2'))).toEqual([
      50,
      madeResync(50, 61, 'e2'),
      61,
    ])
    stream.close()
  })

  test('is noticed over a reconnect', async () => {
    const { shown, cut, stream } = reading({ lastEventId: 'e1:50' })
    await shown('')
    await cut()
    expect(await shown(cursorText('e2:60'))).toEqual([madeResync(50, 61, 'e2')])
    stream.close()
  })

  test('is none where a frame announced it, also one that moved no cursor', async () => {
    const announced = reading({ lastEventId: 'e1:50' })
    const text =
      resyncText({ epoch: 'e2', earliestAvailableId: 1, reason: 'epoch_reset' }) + eventText(1, 'e2')
    expect((await announced.shown(text)).length).toBe(2)
    announced.stream.close()

    const invalid = reading({ lastEventId: 'e1:50' })
    const refused =
      resyncText({ epoch: 'e2', earliestAvailableId: 1, reason: 'invalid_cursor' }) + cursorText('e2:9')
    expect((await invalid.shown(refused + eventText(10, 'e2'))).length).toBe(2)
    invalid.stream.close()
  })

  test('is none where no epoch was known, nor where an id names none', async () => {
    const { shown, stream } = reading({ lastEventId: 5 })
    expect(await shown(eventText(6) + eventText(7).replace('e1:', '') + eventText(8))).toEqual([6, 7, 8])
    stream.close()
  })

  test('leaves a cursor before its first event as long as that was not read', async () => {
    const server = fakeServer()
    const stream = connectBus('http://test/', { fetch: server.fetch, lastEventId: 'e1:50' })
    ;(await server.latest()).answer(eventText(60, 'e2'))
    const { value } = await stream.next()
    expect([value?.type, stream.cursor]).toEqual(['state_resync_required', 'e2:59'])
    await stream.next()
    expect(stream.cursor).toBe('e2:60')
    stream.close()
  })
})

describe('a block that is no frame', () => {
  test.each([
    ['a heartbeat with a name', 'event: heartbeat\ndata:\n\n'],
    ['a named one with text', 'event: ping\ndata: now\n\n'],
    ['a number', 'data: 12\n\n'],
    ['null', 'data: null\n\n'],
    ['an object', 'data: {"type":"ping"}\n\n'],
    ['an envelope of another version', 'data: {"v":2,"type":"ping"}\n\n'],
    ['a list', 'data: []\n\n'],
  ])('is skipped in silence where it has no id: %s', async (_, text) => {
    const { shown, errors, stream } = reading()
    expect([await shown(text), errors, stream.readyState]).toEqual([[], [], 1])
    stream.close()
  })

  test.each([
    ['no JSON', 'SyntaxError', 'nonsense'],
    ['half a frame', 'SyntaxError', '{"id":7,"v":1,'],
    ['a payload', 'TypeError', '{"text":"a"}'],
    ['null', 'TypeError', 'null'],
    ['a type that is none', 'TypeError', '{"v":1,"type":1}'],
  ])('goes to onError where it has an id, and the cursor moves: %s', async (_, name, data) => {
    const { shown, cut, errors, stream } = reading({ lastEventId: 'e1:6' })
    expect(await shown(`id: e1:7\nevent: x\ndata: ${data}\n\n${eventText(8)}`)).toEqual([8])
    expect(errors).toEqual([[name, 'e1:7', 'e1:7']])
    expect(await cut()).toBe('e1:8')
    stream.close()
  })

  test('goes to onError where it began as a frame', async () => {
    const { shown, errors, stream } = reading()
    await shown('event: state_resync_required\ndata: {"v":1,\n\ndata: nonsense\n\n')
    expect(errors.map(([name]) => name)).toEqual(['SyntaxError', 'SyntaxError'])
    stream.close()
  })

  test('may make onError throw, or close the stream in the middle of a chunk', async () => {
    const throwing = reading({
      onError: () => {
        throw new Error('own')
      },
    })
    expect(await throwing.shown(`id: 1\ndata: x\n\n${eventText(2)}`)).toEqual([2])
    throwing.stream.close()

    const closing = reading({ onError: () => closing.stream.close() })
    expect(await closing.shown(`${eventText(1)}id: e1:2\ndata: x\n\n${eventText(3)}`)).toEqual([])
    await closing.over
    expect(closing.stream.readyState).toBe(2)
  })
})

describe('the last frame of a connection', () => {
  test('client_evicted is handed out, and the stream goes on from the last id at once', async () => {
    const { shown, server, stream } = reading({ retryMs: 3000 })
    const text = eventText(4) + controlText('client_evicted', { reason: 'queue_overflow', droppedAfter: 4 })
    expect((await shown(text)).length).toBe(2)
    await pass(0)
    expect([server.exchanges.length, (await server.latest()).lastEventId]).toEqual([2, 'e1:4'])
    expect(await shown(eventText(5))).toEqual([5])
    stream.close()
  })

  test('client_evicted is the end with onEvicted: end', async () => {
    const { shown, over, stream } = reading({ onEvicted: 'end' })
    const text = controlText('client_evicted', { reason: 'queue_overflow' }) + eventText(1)
    expect((await shown(text)).length).toBe(1)
    await over
    expect(stream.readyState).toBe(2)
  })

  test.each(['gone', 'session_taken_over'])('stream_error with the code %s is the end', async (code) => {
    const { shown, over, server } = reading()
    expect((await shown(controlText('stream_error', { error: 'e', code }) + eventText(1))).length).toBe(1)
    await over
    await pass(1e6)
    expect(server.exchanges.length).toBe(1)
  })

  test('any other stream_error is handed out and a failure', async () => {
    const retries: number[] = []
    const { shown, server, stream } = reading({
      retryMs: 1000,
      maxRetryMs: 1000,
      onRetry: ({ attempt }) => retries.push(attempt),
    })
    expect(
      (await shown(controlText('stream_error', { error: 'full', code: 'subscriber_limit_exceeded' }))).length,
    ).toBe(1)
    await pass(1000)
    expect((await shown(controlText('stream_error', {}))).length).toBe(1)
    expect([retries, server.exchanges.length]).toEqual([[1, 2], 2])
    stream.close()
  })

  test('an event of such a name by a foreign bus is an event', async () => {
    const { shown, stream } = reading()
    await shown(`id: e1:1\n${controlText('stream_error', { code: 'gone' })}`)
    expect(stream.readyState).toBe(1)
    stream.close()
  })
})
