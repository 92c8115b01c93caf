import { afterEach, describe, expect, test, vi } from 'vitest'
import { connectBus, connectSse, type SseOptions } from '../../src/client/index.ts'
import { type FakeExchange, fakeServer } from '../support/client-server.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** The first request, and the one after the first connection wrote this text and ended. */
async function twoRequests(
  options: SseOptions,
  text: string,
  url: string | URL = 'http://test/',
): Promise<FakeExchange[]> {
  vi.useFakeTimers()
  const server = fakeServer()
  const stream = connectSse(url, { fetch: server.fetch, retryMs: 0, ...options })
  const reading = (async () => {
    for await (const _ of stream);
  })()
  ;(await server.latest()).answer(text).end()
  await server.latest()
  await vi.advanceTimersByTimeAsync(0)
  await server.latest()
  stream.close()
  await reading
  return server.exchanges
}

const idsOf = (exchanges: FakeExchange[]) => exchanges.map((exchange) => exchange.lastEventId)
const urlsOf = (exchanges: FakeExchange[]) => exchanges.map((exchange) => exchange.url)

describe('the request', () => {
  test('asks for an event stream, past every cache', async () => {
    const [first] = await twoRequests({}, '')
    expect(first?.init).toMatchObject({ method: 'GET', cache: 'no-store' })
    expect([...(first as FakeExchange).headers]).toEqual([['accept', 'text/event-stream']])
    expect(first?.init).not.toHaveProperty('body')
    expect(first?.init).not.toHaveProperty('credentials')
  })

  test('leaves at once, before anybody reads', () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch })
    expect(server.exchanges.length).toBe(1)
    stream.close()
  })

  test.each<[string, SseOptions['headers']]>([
    ['a record', { Authorization: 'a', accept: 'x/y' }],
    [
      'pairs',
      [
        ['Authorization', 'a'],
        ['accept', 'x/y'],
      ],
    ],
    ['Headers', new Headers({ Authorization: 'a', accept: 'x/y' })],
  ])('carries the headers of %s, each time', async (_, headers) => {
    const body = new URLSearchParams({ q: '1' })
    const exchanges = await twoRequests({ headers, method: 'PUT', body, credentials: 'include' }, 'id: 1\n\n')
    expect(exchanges.length).toBe(2)
    for (const { headers, init } of exchanges) {
      expect(headers.get('authorization')).toBe('a')
      expect(headers.get('accept')).toBe('x/y')
      expect(init).toMatchObject({ method: 'PUT', body, credentials: 'include' })
    }
  })

  test('is a POST where there is a body', async () => {
    expect((await twoRequests({ body: 'x' }, ''))[1]?.init).toMatchObject({ method: 'POST', body: 'x' })
  })

  test('takes what the options were when the stream was made', async () => {
    const headers = new Headers({ a: 'before' })
    const options: SseOptions = { headers }
    const exchanges = twoRequests(options, '')
    headers.set('a', 'after')
    options.method = 'PUT'
    expect((await exchanges).map(({ headers, method }) => [headers.get('a'), method])).toEqual([
      ['before', 'GET'],
      ['before', 'GET'],
    ])
  })

  test('is made by the platform unless told otherwise, and by what stands for it then', async () => {
    const server = fakeServer()
    vi.stubGlobal('fetch', function (this: unknown, url: string, init: RequestInit) {
      // A page's fetch refuses to be called as the method of another object.
      if (this !== undefined && this !== globalThis) throw new TypeError('Illegal invocation')
      return server.fetch(url, init)
    })
    const stream = connectSse(new URL('http://test/a?b#c'))
    expect(server.exchanges.map(({ url }) => url)).toEqual(['http://test/a?b#c'])
    stream.close()
  })

  test('may be answered without a promise, and a fetch that throws is a network that fails', async () => {
    vi.useFakeTimers()
    let calls = 0
    const stream = connectSse('/relative', {
      retryMs: 0,
      fetch: (() => {
        if (++calls === 1) throw new Error('thrown')
        return new Response('data: a\n\n', { headers: { 'content-type': 'text/event-stream' } })
      }) as never,
    })
    const next = stream.next()
    await vi.advanceTimersByTimeAsync(1)
    expect(await next).toMatchObject({ value: { data: 'a' } })
    stream.close()
  })

  test('leaves out the cache where the platform has none', () => {
    const server = fakeServer()
    vi.stubGlobal('Request', class {})
    connectSse('http://test/', { fetch: server.fetch }).close()
    expect(server.exchanges[0]?.init).not.toHaveProperty('cache')
  })
})

describe('the cursor', () => {
  test('is sent as Last-Event-ID: the one given, then the last one seen', async () => {
    expect(idsOf(await twoRequests({ lastEventId: 'e:7' }, 'id: e:8\ndata: a\n\nid: e:9\n\n'))).toEqual([
      'e:7',
      'e:9',
    ])
    expect(idsOf(await twoRequests({ lastEventId: 0 }, ''))).toEqual(['0', '0'])
  })

  test('is none before there is an id', async () => {
    expect(idsOf(await twoRequests({}, 'data: a\n\n'))).toEqual([undefined, undefined])
    expect(idsOf(await twoRequests({ lastEventId: '' }, 'data: a\n\n'))).toEqual([undefined, undefined])
  })

  test('is kept by a connection that brought no id, and cleared by an empty one', async () => {
    expect(idsOf(await twoRequests({ lastEventId: 7 }, 'data: a\n\n:\n\n'))).toEqual(['7', '7'])
    expect(idsOf(await twoRequests({ lastEventId: 7 }, 'id\n\n'))).toEqual(['7', undefined])
  })

  test.each(['Last-Event-ID', 'last-event-id', 'LAST-EVENT-ID'])(
    'replaces a %s among the headers',
    async (name) => {
      const own = await twoRequests({ headers: { [name]: '5' } }, 'id: 6\n\n')
      expect(idsOf(own)).toEqual(['5', '6'])
      const both = await twoRequests(
        {
          headers: [
            [name, '5'],
            ['x', 'y'],
          ],
          lastEventId: 9,
        },
        '',
      )
      expect(idsOf(both)).toEqual(['9', '9'])
      for (const { init } of both) {
        expect([...new Headers(init.headers)].filter(([header]) => header === 'last-event-id').length).toBe(1)
      }
    },
  )

  test('of the headers is where the stream starts', () => {
    const server = fakeServer()
    const stream = connectBus('http://test/', { fetch: server.fetch, headers: { 'last-event-id': 'e:5' } })
    expect(stream.cursor).toBe('e:5')
    stream.close()
  })

  test('that is no text of Latin-1 is sent as UTF-8, as the standard has it', async () => {
    const [, second] = await twoRequests({}, 'id: ä-🎈%\ndata: a\n\n')
    const bytes = Buffer.from(second?.lastEventId ?? '', 'latin1')
    expect(bytes.toString('utf8')).toBe('ä-🎈%')
  })

  test('with control characters does not stop the stream', async () => {
    const [, second] = await twoRequests({}, 'id: a\x01\t\x7f\x1fb\ndata: a\n\n')
    expect(second?.lastEventId).toBe('a%01%09%7F%1Fb')
  })

  test('that is very long does not stop the stream', async () => {
    const id = 'é'.repeat(300_000)
    const [, second] = await twoRequests({}, `id: ${id}\ndata: a\n\n`)
    expect(second?.lastEventId?.length).toBe(600_000)
  })
})

describe('cursorParam', () => {
  const param: SseOptions = { cursorParam: 'since' }

  test.each([
    ['http://test/a', 'http://test/a?since=e%3A2'],
    ['http://test/a?', 'http://test/a?since=e%3A2'],
    ['http://test/a?b=c', 'http://test/a?b=c&since=e%3A2'],
    ['http://test/a?since=1&b=%20&flag&since=3', 'http://test/a?b=%20&flag&since=e%3A2'],
    ['http://test/a?s%69nce=1', 'http://test/a?since=e%3A2'],
    ['http://test/a?b=1?2#part', 'http://test/a?b=1?2&since=e%3A2'],
    ['/relative?b', '/relative?b&since=e%3A2'],
    ['', '?since=e%3A2'],
  ])('carries it in the query of %s, and leaves the rest as it is', async (url, wanted) => {
    const exchanges = await twoRequests(param, 'id: e:2\n\n', url)
    expect(urlsOf(exchanges)).toEqual([url, wanted])
    expect(idsOf(exchanges)).toEqual([undefined, undefined])
  })

  test('takes it from a header of the user, which would win', async () => {
    const exchanges = await twoRequests({ ...param, headers: { 'Last-Event-ID': 'e:1' } }, 'id: e:2\n\n')
    expect(urlsOf(exchanges)).toEqual(['http://test/?since=e%3A1', 'http://test/?since=e%3A2'])
    expect(idsOf(exchanges)).toEqual([undefined, undefined])
  })

  test('carries any text and any name', async () => {
    const [, second] = await twoRequests({ cursorParam: 'ä&b' }, 'id: a b&c=ü\x01\n\n')
    expect(new URL(second?.url ?? '').searchParams.get('ä&b')).toBe('a b&c=ü\x01')
  })
})

describe('a cursor that the server cleared', () => {
  test('does not bring back the one that the caller began with', async () => {
    const headers = { 'Last-Event-ID': '7' }
    expect(idsOf(await twoRequests({ headers }, 'id: 9\ndata: a\n\nid:\ndata: b\n\n'))).toEqual([
      '7',
      undefined,
    ])
    const options = { headers, cursorParam: 'from' }
    const byQuery = await twoRequests(options, 'id: 9\ndata: a\n\nid:\ndata: b\n\n')
    expect(idsOf(byQuery)).toEqual([undefined, undefined])
    expect(urlsOf(byQuery)).toEqual(['http://test/?from=7', 'http://test/'])
  })
})

describe('the cursor of a stream', () => {
  test.each(['né', 'a\tb', 'x'.repeat(300), '€😀'])(
    'is one that another stream begins with: %j',
    async (id) => {
      const server = fakeServer()
      const stream = connectSse('http://test/', { fetch: server.fetch })
      ;(await server.latest()).answer(`id: ${id}\ndata: a\n\n`)
      await stream.next()
      stream.close()
      expect(stream.cursor).toBe(id)
      connectSse('http://test/', { fetch: server.fetch, lastEventId: stream.cursor }).close()
    },
  )
})
