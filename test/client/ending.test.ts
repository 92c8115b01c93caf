import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connectSse, type SseOptions, type SseStream } from '../../src/client/index.ts'
import { abortListeners } from '../support/bus.ts'
import { fakeServer, pass } from '../support/client-server.ts'
import { flush, settled } from '../support/reading.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const DONE = { done: true, value: undefined }

type Stream = SseStream<unknown>
type Stage = (options?: SseOptions) => Promise<{ stream: Stream; left(): unknown }>

const OPTIONS: SseOptions = { idleTimeoutMs: 1000, connectTimeoutMs: 1000 }

/** Where a stream can be when it is ended, and what must be gone then. */
const STAGES: Record<string, Stage> = {
  connecting: async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    const exchange = await server.latest()
    return { stream, left: () => exchange.aborted || 'a request' }
  },
  'open, and nobody reads': async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    const exchange = (await server.latest()).answer('data: a\n\ndata: b\n\n')
    await stream.next()
    return { stream, left: () => (exchange.aborted && exchange.cancelled) || 'a body' }
  },
  'open, and never read': async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    const exchange = (await server.latest()).answer('data: a\n\n')
    await flush()
    return { stream, left: () => (exchange.aborted && exchange.cancelled) || 'a body' }
  },
  'open, and a body that fails as it is cut': async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    const exchange = (await server.latest()).answer()
    exchange.init.signal?.addEventListener('abort', () => exchange.fail(new Error('cut')))
    void stream.next()
    await flush()
    return { stream, left: () => exchange.aborted || 'a body' }
  },
  reading: async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    const exchange = (await server.latest()).answer()
    void stream.next()
    await flush()
    return { stream, left: () => (exchange.aborted && exchange.cancelled) || 'a body' }
  },
  'reading the text of a refusal': async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    const exchange = (await server.latest()).answer('no', { status: 403 })
    await flush()
    return { stream, left: () => (exchange.aborted && exchange.cancelled) || 'a body' }
  },
  'waiting to reconnect': async (options) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, ...options })
    ;(await server.latest()).fail()
    await flush()
    expect(vi.getTimerCount()).toBe(1)
    return { stream, left: () => server.exchanges.length === 1 || 'a request' }
  },
}

const ENDS: Record<string, (stream: Stream, controller: AbortController) => unknown> = {
  'close()': (stream) => stream.close(),
  'return()': async (stream) =>
    expect(await settled(stream.return('v'))).toEqual({ value: { done: true, value: 'v' } }),
  'throw()': (stream) => expect(stream.throw(new Error('own'))).rejects.toThrow('own'),
  abort: (_, controller) => controller.abort(),
  dispose: (stream) => stream[Symbol.asyncDispose](),
  'two ways at once': (stream, controller) => {
    stream.close()
    controller.abort()
    stream.close()
  },
}

describe.each(Object.entries(STAGES))('a stream that is %s', (_, stage) => {
  test.each(Object.entries(ENDS))('is over at once by %s, and nothing is left', async (_, finish) => {
    const controller = new AbortController()
    const { stream, left } = await stage({ signal: controller.signal })
    expect(abortListeners(controller.signal)).toBe(1)
    const pending = [stream.next(), stream.next()]
    await flush()
    const buffered = await settled(pending[0] as Promise<unknown>)
    await finish(stream, controller)
    expect(stream.readyState).toBe(2)
    // What was read before it was ended is the reader's.
    if (buffered === undefined) expect(await settled(pending[0] as Promise<unknown>)).toEqual({ value: DONE })
    expect(await settled(pending[1] as Promise<unknown>)).toEqual({ value: DONE })
    expect(await settled(stream.next())).toEqual({ value: DONE })
    expect([vi.getTimerCount(), abortListeners(controller.signal), left()]).toEqual([0, 0, true])
    await pass(1e7)
    expect([vi.getTimerCount(), left()]).toEqual([0, true])
  })
})

test('a stream that is closed as its head arrives stays closed', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch })
    const exchange = (await server.latest()).answer('data: a\n\n')
    for (let turn = 0; turn < turns; turn++) await undefined
    stream.close()
    await flush()
    expect([stream.readyState, vi.getTimerCount(), exchange.cancelled], `after ${turns} turns`).toEqual([
      2,
      0,
      true,
    ])
    expect(await stream.next()).toEqual(DONE)
  }
})

test('an aborted signal is the end before any request', async () => {
  const server = fakeServer()
  const signal = AbortSignal.abort()
  const stream = connectSse('http://test/', { fetch: server.fetch, signal })
  expect(stream.readyState).toBe(2)
  expect(await stream.next()).toEqual(DONE)
  expect([server.exchanges.length, abortListeners(signal), vi.getTimerCount()]).toEqual([0, 0, 0])
})

test('leaving the loop by break or by an error ends the stream', async () => {
  for (const leave of ['break', 'error']) {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch })
    const exchange = (await server.latest()).answer('id: 1\ndata: a\n\nid: 2\ndata: b\n\n')
    const loop = (async () => {
      for await (const _ of stream) {
        if (leave === 'break') break
        throw new Error('own')
      }
    })()
    if (leave === 'break') await loop
    else await expect(loop).rejects.toThrow('own')
    expect([stream.readyState, stream.cursor, exchange.cancelled]).toEqual([2, '1', true])
  }
})

test('a natural end and a refusal leave nothing behind', async () => {
  for (const status of [204, 403]) {
    const { signal } = new AbortController()
    const server = fakeServer()
    const stream = connectSse('http://test/', { ...OPTIONS, fetch: server.fetch, signal })
    const next = stream.next()
    next.catch(() => {})
    const exchange = await server.latest()
    if (status === 204) exchange.answer(undefined, { status })
    else exchange.refuse(status)
    await flush()
    expect([stream.readyState, abortListeners(signal), vi.getTimerCount()]).toEqual([2, 0, 0])
  }
})

test('many streams on one signal leave no listener and no warning', async () => {
  const warnings: unknown[] = []
  const warned = (warning: unknown) => warnings.push(warning)
  process.on('warning', warned)
  const { signal } = new AbortController()
  for (let round = 0; round < 50; round++) {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch, signal })
    ;(await server.latest()).answer('data: a\n\n')
    for await (const _ of stream) break
  }
  process.off('warning', warned)
  expect([abortListeners(signal), warnings]).toEqual([0, []])
})

test('an error that nobody reads is not an unhandled rejection, and is told to whoever reads next, once', async () => {
  const server = fakeServer()
  const stream = connectSse('http://test/', { fetch: server.fetch })
  ;(await server.latest()).refuse(403)
  await flush()
  await pass(1)
  await expect(stream.next()).rejects.toMatchObject({ status: 403 })
  expect(await stream.next()).toEqual(DONE)
})

test('of several that wait the first is told the error, and the others that it is over', async () => {
  const server = fakeServer()
  const stream = connectSse('http://test/', { fetch: server.fetch })
  const outcomes = Promise.allSettled([stream.next(), stream.next(), stream.next()])
  ;(await server.latest()).refuse(403)
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
})

test('an error that was not read is dropped by close()', async () => {
  const server = fakeServer()
  const stream = connectSse('http://test/', { fetch: server.fetch })
  ;(await server.latest()).refuse(403)
  await flush()
  stream.close()
  expect(await stream.next()).toEqual(DONE)
})

describe('reading', () => {
  test('overlapping calls are answered first come, first served', async () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch })
    const values = Promise.all(Array.from({ length: 5 }, () => stream.next()))
    const exchange = (await server.latest()).answer('data: 0\n\ndata: 1\n\n')
    await flush()
    exchange.send('data: 2\n\ndata: 3\n\ndata: 4\n\ndata: 5\n\n')
    expect((await values).map(({ value }) => value?.data)).toEqual(['0', '1', '2', '3', '4'])
    expect((await stream.next()).value).toMatchObject({ data: '5' })
    stream.close()
  })

  test('takes nothing from the server that nobody asked for', async () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch })
    const exchange = (await server.latest())
      .answer('id: 1\ndata: a\n\nid: 2\ndata: b\n\n')
      .send('id: 3\ndata: c\n\n')
    await flush()
    expect([exchange.pulls, stream.readyState, stream.cursor]).toEqual([0, 1, undefined])
    await stream.next()
    await stream.next()
    await flush()
    const asked = exchange.pulls
    await flush()
    expect(exchange.pulls).toBe(asked)
    exchange.end()
    await flush()
    // The end is behind a chunk that was not read yet.
    expect(stream.readyState).toBe(1)
    expect(await stream.next()).toMatchObject({ value: { data: 'c' } })
    stream.close()
  })

  test('the cursor follows what was handed out, not what was read', async () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch, lastEventId: 1 })
    ;(await server.latest()).answer('id: 2\ndata: a\n\nid: 3\n\nid: 4\ndata: b\n\nid: 5\n\n')
    const cursors = [stream.cursor]
    await stream.next()
    cursors.push(stream.cursor)
    await stream.next()
    cursors.push(stream.cursor)
    expect(cursors).toEqual(['1', '2', '5'])
    stream.close()
    expect(stream.cursor).toBe('5')
  })

  test('what was read before the end may be read after it, but not after close()', async () => {
    for (const closed of [false, true]) {
      const server = fakeServer()
      const stream = connectSse('http://test/', { fetch: server.fetch })
      ;(await server.latest()).answer(
        'id: 1\ndata: a\n\nid: 2\ndata: b\n\nevent: stream_error\ndata: {"code":"gone"}\n\n',
      )
      await stream.next()
      await flush()
      expect([stream.readyState, stream.cursor]).toEqual([2, '1'])
      if (closed) stream.close()
      const rest: unknown[] = []
      for await (const { data } of stream) rest.push(data)
      expect(rest).toEqual(closed ? [] : ['b', '{"code":"gone"}'])
      expect(stream.cursor).toBe(closed ? '1' : '2')
    }
  })

  test('goes on over the next connection while what came before is still being read', async () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch, retryMs: 0 })
    ;(await server.latest()).answer('id: 1\ndata: a\n\nid: 2\ndata: b\n\nevent: client_evicted\ndata: {}\n\n')
    await stream.next()
    await pass(1)
    const second = (await server.latest()).answer('id: 3\ndata: c\n\n')
    expect([server.exchanges.length, second.lastEventId, stream.cursor]).toEqual([2, '2', '1'])
    const data: unknown[] = []
    for await (const block of stream) {
      data.push(block.data)
      if (block.id === '3') break
    }
    expect(data).toEqual(['b', '{}', 'c'])
  })
})
