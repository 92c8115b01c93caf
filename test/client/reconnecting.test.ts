import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connectSse, type SseHttpError, type SseOptions, type SseRetry } from '../../src/client/index.ts'
import { cursorText, type FakeExchange, fakeServer, pass } from '../support/client-server.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A stream that is read all the time, and everything that it tells. */
function reading(options: SseOptions = {}) {
  const server = fakeServer()
  const retries: SseRetry[] = []
  const data: string[] = []
  let failed: unknown
  const stream = connectSse('http://test/', {
    fetch: server.fetch,
    onRetry: (retry) => retries.push(retry),
    ...options,
  })
  const over = (async () => {
    for await (const block of stream) data.push(block.data)
  })().catch((error: unknown) => {
    failed = error
  })
  return {
    server,
    stream,
    retries,
    data,
    over,
    failure: () => failed as SseHttpError,
    /** Milliseconds until the next request, by the clock. */
    async untilNext(): Promise<{ ms: number; exchange: FakeExchange }> {
      const before = server.exchanges.length
      const start = Date.now()
      while (server.exchanges.length === before) await vi.advanceTimersToNextTimerAsync()
      return { ms: Date.now() - start, exchange: await server.latest() }
    },
  }
}

/** Draws the shortest delay, or the longest. */
const chance = (value: 0 | 1) => vi.spyOn(Math, 'random').mockReturnValue(value === 0 ? 0 : 1 - 2 ** -53)

describe('the delay', () => {
  test.each([
    [0, [3000, 6000, 12_000, 20_000, 20_000]],
    [1, [4500, 9000, 18_000, 30_000, 30_000]],
  ] as const)('doubles with each failure up to maxRetryMs, with chance %d', async (value, delays) => {
    chance(value)
    const { server, untilNext, retries, stream } = reading()
    for (const [index, delay] of delays.entries()) {
      const exchange = await server.latest()
      exchange.fail()
      expect((await untilNext()).ms).toBe(delay)
      expect(retries[index]).toMatchObject({
        attempt: index + 1,
        delayMs: delay,
        error: { message: 'network' },
      })
    }
    stream.close()
  })

  test('is never longer than maxRetryMs nor shorter than the base, whatever the chance', async () => {
    const { server, untilNext, stream } = reading({ retryMs: 1000, maxRetryMs: 1200 })
    for (let failure = 0; failure < 50; failure++) {
      ;(await server.latest()).fail()
      const { ms } = await untilNext()
      expect(ms).toBeGreaterThanOrEqual(failure === 0 ? 1000 : 1000)
      expect(ms).toBeLessThanOrEqual(1200)
    }
    stream.close()
  })

  test('is none with retryMs 0, however many failures there were', async () => {
    const { server, untilNext, stream } = reading({ retryMs: 0 })
    for (let failure = 0; failure < 1100; failure++) {
      server.exchanges.at(-1)?.fail()
      expect((await untilNext()).ms).toBeLessThanOrEqual(1)
    }
    stream.close()
  })

  test('starts from what the server asked for', async () => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).answer('retry: 500\n\n').end()
    const first = await untilNext()
    expect(first.ms).toBe(500)
    first.exchange.fail()
    expect((await untilNext()).ms).toBe(1000)
    stream.close()
  })

  test('is capped where the server asks for more', async () => {
    const { server, untilNext, stream } = reading({ maxRetryMs: 5000 })
    ;(await server.latest()).answer(`retry: ${'9'.repeat(400)}\n\n`).end()
    expect((await untilNext()).ms).toBe(5000)
    stream.close()
  })

  test('may be longer than a timer of the platform', async () => {
    chance(0)
    const month = 31 * 24 * 3600 * 1000
    const { server, untilNext, stream } = reading({ retryMs: month, maxRetryMs: Infinity })
    ;(await server.latest()).fail()
    expect((await untilNext()).ms).toBe(month)
    stream.close()
  })
})

describe('the row of failures ends', () => {
  test('with the first event that has an id', async () => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).fail()
    await untilNext()
    ;(await server.latest()).answer('id: 1\ndata: a\n\n').end()
    expect((await untilNext()).ms).toBe(3000)
    stream.close()
  })

  test.each([
    ['an event without an id', 'data: a\n\n'],
    ['a cursor block', cursorText('1')],
    ['an id without data', 'id: 1\n\n'],
    ['nothing', ''],
  ])('not with %s', async (_, text) => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).fail()
    await untilNext()
    ;(await server.latest()).answer(text).end()
    expect((await untilNext()).ms).toBe(6000)
    stream.close()
  })

  test('with 10 seconds of being open, and not with less', async () => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).fail()
    await untilNext()
    const short = (await server.latest()).answer()
    await pass(9999)
    short.end()
    expect((await untilNext()).ms).toBe(6000)
    const long = (await server.latest()).answer()
    await pass(10_000)
    long.end()
    expect((await untilNext()).ms).toBe(3000)
    stream.close()
  })
})

describe('Retry-After', () => {
  test.each([
    ['seconds', '7', 7000],
    ['more than maxRetryMs', '120', 120_000],
    ['less than the delay', '1', 3000],
    ['what is no time', 'soon', 3000],
    ['a negative number', '-5', 3000],
  ])('is a floor: %s', async (_, value, delay) => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).refuse(503, { 'retry-after': value })
    expect((await untilNext()).ms).toBe(delay)
    stream.close()
  })

  test('may be a date, also one that has passed', async () => {
    chance(0)
    vi.setSystemTime(new Date('2030-01-01T00:00:00Z'))
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).refuse(429, { 'retry-after': 'Tue, 01 Jan 2030 00:01:00 GMT' })
    expect((await untilNext()).ms).toBe(60_000)
    ;(await server.latest()).refuse(429, { 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT' })
    expect((await untilNext()).ms).toBe(6000)
    stream.close()
  })

  test('holds for one delay', async () => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).refuse(503, { 'retry-after': '50' })
    await untilNext()
    ;(await server.latest()).fail()
    expect((await untilNext()).ms).toBe(6000)
    stream.close()
  })
})

describe('an answer', () => {
  test.each([408, 425, 429, 500, 502, 503, 504, 599])('%d is tried again', async (status) => {
    const { server, untilNext, stream, retries } = reading()
    ;(await server.latest()).refuse(status, {}, 'busy')
    await untilNext()
    expect(retries[0]?.error).toMatchObject({
      status,
      body: 'busy',
      url: 'http://test/',
      code: 'sse_http_error',
    })
    expect(stream.readyState).toBe(0)
    stream.close()
  })

  test.each([304, 400, 401, 403, 404, 409, 410, 422, 431])(
    '%d rejects, and the stream is over',
    async (status) => {
      const { server, failure, over, stream, retries } = reading()
      ;(await server.latest()).refuse(status, {}, status === 304 ? '' : 'no')
      await over
      expect(failure()).toMatchObject({
        name: 'SseHttpError',
        status,
        url: 'http://test/',
        body: status === 304 ? '' : 'no',
      })
      expect([stream.readyState, retries.length, vi.getTimerCount()]).toEqual([2, 0, 0])
      expect(await stream.next()).toEqual({ done: true, value: undefined })
    },
  )

  test.each(['text/html', 'text/event-stream-x', 'application/json; a=text/event-stream', ''])(
    'with the content type "%s" rejects',
    async (type) => {
      const { server, failure, over } = reading()
      ;(await server.latest()).refuse(200, { 'content-type': type }, '<p>')
      await over
      expect(failure()).toMatchObject({ status: 200, body: '<p>' })
    },
  )

  test.each([
    'text/event-stream; charset=utf-8',
    'Text/Event-Stream;charset=utf-8',
    'text/event-stream ; a=b',
  ])('with the content type "%s" is read', async (type) => {
    const { server, data, stream } = reading()
    ;(await server.latest()).answer('data: a\n\n', { headers: { 'content-type': type } })
    await server.latest()
    expect(data).toEqual(['a'])
    stream.close()
  })

  test('204 is the end: no further request', async () => {
    const { server, over, failure, stream } = reading()
    ;(await server.latest()).answer(undefined, { status: 204 })
    await over
    await pass(1e6)
    expect([failure(), server.exchanges.length, stream.readyState]).toEqual([undefined, 1, 2])
  })

  test('whose text never ends is cut at 65,536 characters, or after a second', async () => {
    const long = reading()
    const endless = (await long.server.latest()).answer('x'.repeat(70_000), { status: 403 })
    await long.over
    expect(long.failure().body).toBe('x'.repeat(65_536))
    expect(endless.cancelled || endless.aborted).toBe(true)

    const slow = reading()
    ;(await slow.server.latest()).answer('so far', { status: 403 })
    await pass(999)
    expect(slow.failure()).toBeUndefined()
    await pass(1)
    expect(slow.failure()).toMatchObject({ status: 403, body: 'so far' })
  })
})

describe('maxRetries', () => {
  test('in a row are made, then the last refusal rejects', async () => {
    const { server, untilNext, failure, over, retries } = reading({ maxRetries: 2 })
    for (const status of [500, 502]) {
      ;(await server.latest()).refuse(status)
      await untilNext()
    }
    ;(await server.latest()).refuse(503, {}, 'last words')
    await over
    expect(failure()).toMatchObject({ status: 503, body: 'last words' })
    expect(retries.map((retry) => retry.attempt)).toEqual([1, 2])
  })

  test('of 0 make no second request: a network that fails has the status 0 and its error as the cause', async () => {
    const { server, failure, over } = reading({ maxRetries: 0 })
    const error = new TypeError('no network')
    ;(await server.latest()).fail(error)
    await over
    expect(failure()).toMatchObject({
      name: 'SseHttpError',
      status: 0,
      url: 'http://test/',
      body: '',
      cause: error,
    })
  })

  test('of 0 reject at the end of a response, with its status', async () => {
    const { server, failure, over, data } = reading({ maxRetries: 0 })
    ;(await server.latest()).answer('data: a\n\n').end()
    await over
    expect([data, failure().status]).toEqual([['a'], 200])
  })

  test('count anew after progress', async () => {
    const { server, untilNext, stream, failure } = reading({ maxRetries: 1 })
    for (let round = 0; round < 5; round++) {
      ;(await server.latest()).answer(`id: ${round}\ndata: a\n\n`).end()
      await untilNext()
    }
    expect(failure()).toBeUndefined()
    stream.close()
  })
})

describe('silence', () => {
  test('before the head is cut after connectTimeoutMs, also where fetch never settles', async () => {
    const { server, untilNext, retries, stream } = reading({ connectTimeoutMs: 400 })
    const first = await server.latest()
    await pass(399)
    expect(first.aborted).toBe(false)
    await pass(1)
    expect(first.aborted).toBe(true)
    expect(retries).toMatchObject([
      { attempt: 1, error: { message: expect.stringContaining('connectTimeoutMs') } },
    ])
    await untilNext()
    // Its answer comes when nobody waits for it any more.
    first.answer('data: late\n\n')
    await server.latest()
    expect(first.cancelled).toBe(true)
    stream.close()
  })

  test.each([0, Infinity])(
    'before the head is endured with connectTimeoutMs %d',
    async (connectTimeoutMs) => {
      const { server, stream } = reading({ connectTimeoutMs })
      await server.latest()
      await pass(2 ** 33)
      expect(server.exchanges.length).toBe(1)
      stream.close()
    },
  )

  test('of a connection is cut after idleTimeoutMs, and the cursor is sent', async () => {
    const { server, untilNext, retries, stream } = reading({ idleTimeoutMs: 1000 })
    const first = (await server.latest()).answer('id: 1\ndata: a\n\n')
    await pass(1000)
    expect(first.cancelled || first.aborted).toBe(true)
    expect(retries).toMatchObject([{ error: { message: expect.stringContaining('idleTimeoutMs') } }])
    expect((await untilNext()).exchange.lastEventId).toBe('1')
    stream.close()
  })

  test('is broken by any bytes, a comment or half a line', async () => {
    const { server, stream } = reading({ idleTimeoutMs: 1000 })
    const first = (await server.latest()).answer()
    for (const bytes of [':\n\n', ':', ' x', '\n', 'da']) {
      await pass(999)
      first.send(bytes)
      await server.latest()
    }
    await pass(999)
    expect([server.exchanges.length, stream.readyState]).toEqual([1, 1])
    stream.close()
  })

  test('does not count while nobody reads', async () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch, idleTimeoutMs: 1000 })
    const first = (await server.latest()).answer('data: a\n\n')
    await stream.next()
    await pass(100_000)
    expect([vi.getTimerCount(), first.aborted, server.exchanges.length]).toEqual([0, false, 1])
    stream.close()
  })

  test('of a connection is endured for ever by default', async () => {
    const { server, stream } = reading()
    ;(await server.latest()).answer()
    await pass(2 ** 33)
    expect([server.exchanges.length, stream.readyState]).toEqual([1, 1])
    stream.close()
  })
})

describe('what a server says about its end', () => {
  const evicted = 'event: client_evicted\ndata: {"reason":"queue_overflow"}\n\n'
  const error = (code: string) => `event: stream_error\ndata: {"error":"why","code":"${code}"}\n\n`

  test('client_evicted is handed out, and the first reconnect is immediate', async () => {
    const { server, untilNext, data, retries, stream } = reading()
    ;(await server.latest()).answer(`id: 4\ndata: a\n\n${evicted}`)
    const { ms, exchange } = await untilNext()
    expect([ms <= 1, exchange.lastEventId, data.length]).toEqual([true, '4', 2])
    expect(retries).toMatchObject([
      { attempt: 1, delayMs: 0, error: { message: 'client_evicted: queue_overflow' } },
    ])
    stream.close()
  })

  test('client_evicted again without progress waits as any failure does', async () => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).answer(evicted)
    await untilNext()
    ;(await server.latest()).answer(evicted)
    expect((await untilNext()).ms).toBe(6000)
    stream.close()
  })

  test('client_evicted is the end with onEvicted: end', async () => {
    const { server, over, data, stream, failure } = reading({ onEvicted: 'end' })
    const exchange = (await server.latest()).answer(`data: a\n\n${evicted}data: b\n\n`)
    await over
    expect([data.length, failure(), stream.readyState, exchange.aborted]).toEqual([2, undefined, 2, true])
  })

  test('stream_error is handed out and counts as a failure', async () => {
    chance(0)
    const { server, untilNext, data, retries, stream } = reading()
    const first = (await server.latest()).answer(`id: 1\ndata: a\n\n${error('subscriber_limit_exceeded')}`)
    expect((await untilNext()).ms).toBe(3000)
    expect([data.length, first.aborted]).toEqual([2, true])
    expect(retries).toMatchObject([
      { error: { message: 'stream_error: why', code: 'subscriber_limit_exceeded' } },
    ])
    ;(await server.latest()).answer(error('x'))
    expect((await untilNext()).ms).toBe(6000)
    stream.close()
  })

  test.each(['gone', 'session_taken_over'])(
    'stream_error with the code %s is handed out and is the end',
    async (code) => {
      for (const text of [
        error(code),
        `event: stream_error\ndata: {"v":1,"type":"stream_error","data":{"error":"e","code":"${code}"}}\n\n`,
      ]) {
        const { server, over, data, failure } = reading()
        ;(await server.latest()).answer(text)
        await over
        await pass(1e6)
        expect([data.length, failure(), server.exchanges.length]).toEqual([1, undefined, 1])
      }
    },
  )

  test('an event with an id is never taken for one of these', async () => {
    const { server, stream } = reading()
    ;(await server.latest()).answer(`id: 1\n${error('gone')}id: 2\n${evicted}`)
    await server.latest()
    expect([stream.readyState, stream.cursor]).toEqual([1, '2'])
    stream.close()
  })

  test('nonsense in it is a failure like any other', async () => {
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).answer('event: stream_error\ndata: {\n\nevent: stream_error\ndata: null\n\n')
    await untilNext()
    ;(await server.latest()).answer('event: stream_error\ndata: null\n\n')
    await untilNext()
    expect(stream.readyState).toBe(0)
    stream.close()
  })
})

describe('callbacks', () => {
  test('onOpen is told of each connection, before its blocks', async () => {
    const told: unknown[] = []
    const { server, untilNext, stream, data } = reading({
      lastEventId: 3,
      onOpen: ({ url, headers, cursor }) => told.push([url, headers.get('x-a'), cursor, data.length]),
    })
    ;(await server.latest()).answer('id: 4\ndata: a\n\n', { headers: { 'x-a': 'b' } }).end()
    await untilNext()
    ;(await server.latest()).answer()
    await server.latest()
    expect(told).toEqual([
      ['http://test/', 'b', '3', 0],
      ['http://test/', null, '4', 1],
    ])
    stream.close()
  })

  test('that throw or reject change nothing', async () => {
    const { server, untilNext, stream, data } = reading({
      onOpen: () => {
        throw new Error('sync')
      },
      onRetry: (async () => {
        throw new Error('async')
      }) as () => void,
    })
    ;(await server.latest()).fail()
    await untilNext()
    ;(await server.latest()).answer('data: a\n\n')
    await server.latest()
    expect(data).toEqual(['a'])
    stream.close()
  })

  test('may close the stream', async () => {
    const opened = reading({ onOpen: () => opened.stream.close() })
    const exchange = (await opened.server.latest()).answer('data: a\n\n')
    await opened.over
    expect([opened.data, exchange.aborted]).toEqual([[], true])
    const lost = reading({ onRetry: () => lost.stream.close() })
    ;(await lost.server.latest()).fail()
    await lost.over
    expect([vi.getTimerCount(), lost.server.exchanges.length]).toEqual([0, 1])
  })
})

describe('what no server should say', () => {
  test('is a failure like any other: an error that is no text', async () => {
    const { server, untilNext, failure, stream } = reading()
    const frame = '{"v":1,"type":"stream_error","data":{"code":"busy","error":{"toString":1}}}'
    ;(await server.latest()).answer(`event: stream_error\ndata: ${frame}\n\n`)
    await untilNext()
    expect(failure()).toBeUndefined()
    stream.close()
  })

  test.each(['in 60000', '99999, 5', '9'.repeat(400)])(
    'asks for no delay: Retry-After: %s',
    async (value) => {
      chance(0)
      const { server, untilNext, stream } = reading()
      ;(await server.latest()).refuse(503, { 'retry-after': value })
      expect((await untilNext()).ms).toBe(3000)
      stream.close()
    },
  )

  test('is still backed off from: retry: 0', async () => {
    chance(0)
    const { server, untilNext, stream } = reading()
    ;(await server.latest()).answer('retry: 0\n\n').end()
    await untilNext()
    for (let times = 0; times < 6; times++) {
      ;(await server.latest()).fail()
      await untilNext()
    }
    ;(await server.latest()).fail()
    expect((await untilNext()).ms).toBeGreaterThanOrEqual(64)
    stream.close()
  })
})

describe('an event with an id and no data', () => {
  test('ends the row of failures, unless it is named cursor', async () => {
    const { server, untilNext, data, failure, over } = reading({ maxRetries: 2 })
    for (let n = 1; n <= 4; n++) {
      ;(await server.latest()).answer(`event: tick\nid: ${n}\ndata:\n\n`).end()
      await untilNext()
    }
    expect(data).toHaveLength(4)
    for (let n = 5; n <= 6; n++) {
      ;(await server.latest()).answer(`event: cursor\nid: ${n}\ndata:\n\n`).end()
      if (n < 6) await untilNext()
    }
    await over
    expect(failure()).toMatchObject({ code: 'sse_http_error', status: 200 })
  })
})
