import { describe, expect, test } from 'vitest'
import { connectBus, connectSse, type SseOptions } from '../../src/client/index.ts'
import { fakeServer } from '../support/client-server.ts'

const { fetch } = fakeServer()

const TYPES: [keyof SseOptions, unknown[]][] = [
  ['fetch', [null, 'fetch', {}]],
  ['method', [null, 1]],
  ['headers', [null, 'a: b', 1]],
  ['body', [null, new ReadableStream(), { async *[Symbol.asyncIterator]() {} }, { getReader() {} }]],
  ['credentials', [null, true]],
  ['lastEventId', [null, {}, true]],
  ['cursorParam', [null, 1]],
  ['signal', [null, {}, 'x']],
  ['retryMs', [null, '1']],
  ['maxRetryMs', [null, '1']],
  ['maxRetries', [null, '1']],
  ['connectTimeoutMs', [null, '1']],
  ['idleTimeoutMs', [null, '1']],
  ['onEvicted', [null, 1]],
  ['maxBufferSize', [null, '1']],
  ['onOpen', [null, {}]],
  ['onRetry', [null, {}]],
  ['onError', [null, {}]],
]

const RANGES: [keyof SseOptions, unknown[]][] = [
  ['lastEventId', [-1, 1.5, NaN, 2 ** 53, Infinity, 'a\nb', 'a\rb', 'a\0b']],
  ['cursorParam', ['']],
  ['retryMs', [-1, 0.5, NaN]],
  ['maxRetryMs', [-1, 0.5, NaN]],
  ['maxRetries', [-1, 0.5, NaN]],
  ['connectTimeoutMs', [-1, 0.5, NaN]],
  ['idleTimeoutMs', [-1, 0.5, NaN]],
  ['onEvicted', ['', 'stop', 'resume\n']],
  ['maxBufferSize', [0, -1, 0.5, NaN]],
]

describe.each([
  ['connectSse', connectSse],
  ['connectBus', connectBus],
] as const)('%s refuses at the door', (_, connect) => {
  test.each(TYPES)('a wrong type of %s, with a TypeError that names it', (name, values) => {
    for (const value of values) {
      expect.soft(() => connect('http://test/', { fetch, [name]: value })).toThrow(TypeError)
      expect.soft(() => connect('http://test/', { fetch, [name]: value })).toThrow(name)
    }
  })

  test.each(RANGES)('a %s out of its domain, with a RangeError that names it', (name, values) => {
    for (const value of values) {
      expect.soft(() => connect('http://test/', { fetch, [name]: value }), `${value}`).toThrow(RangeError)
      expect.soft(() => connect('http://test/', { fetch, [name]: value })).toThrow(name)
    }
  })

  test('a URL that is none, and options that are none', () => {
    for (const url of [undefined, null, 1, {}, [], () => ''] as never[]) {
      expect.soft(() => connect(url, { fetch })).toThrow(/^url must be/)
      expect.soft(() => connect(url, { fetch })).toThrow(TypeError)
    }
    for (const options of [null, 1, 'x'] as never[]) {
      expect.soft(() => connect('http://test/', options)).toThrow(TypeError)
      expect.soft(() => connect('http://test/', options)).toThrow(/options/)
    }
  })

  test('what the platform could never send, which would be tried for ever, without quoting it', () => {
    const refusals: [string, string | URL, SseOptions][] = [
      ['url', '/secret', {}],
      ['url', 'http://user:secret@test/', {}],
      ['method', 'http://secret/', { method: 'GET', body: 'x' }],
      ['method', 'http://secret/', { method: 'TRACE' }],
      ['credentials', 'http://secret/', { credentials: 'secret' as never }],
      ['headers', 'http://test/', { fetch, headers: { 'a secret': 'c' } }],
      ['headers', 'http://test/', { fetch, headers: { a: 'secret\n' + 'b' } }],
    ]
    for (const [name, url, options] of refusals) {
      const refused = () => connect(url, options)
      expect.soft(refused).toThrow(TypeError)
      expect.soft(refused).toThrow(name)
      expect.soft(refused).not.toThrow(/secret/)
    }
  })
})

test('what may be one of two types is refused by the names of both', () => {
  const refused = (url: unknown, options: object) => () =>
    connectSse(url as string, { fetch, ...options } as SseOptions)
  expect(refused(7, {})).toThrow('url must be of type string or URL, got number')
  expect(refused('http://test/', { lastEventId: true })).toThrow(
    'lastEventId must be of type string or number, got boolean',
  )
})

test('a URL that the platform cannot send is told apart, with what it must be where there is no page', () => {
  expect(() => connectBus('/events')).toThrow('url (absolute outside browsers): nothing that fetch can send')
  expect(() => connectBus('http://test/', { method: 'TRACE' })).not.toThrow(/url/)
  connectBus('/events', { fetch }).close()
})

test('a refused option makes no request', () => {
  const server = fakeServer()
  expect(() => connectSse('http://test/', { fetch: server.fetch, maxBufferSize: 0 })).toThrow(RangeError)
  expect(server.exchanges).toEqual([])
})

test('every option may be undefined, and every edge of a domain is in it', () => {
  const names = [...new Set([...TYPES, ...RANGES].map(([name]) => name))].filter((name) => name !== 'fetch')
  connectSse('http://test/', { fetch, ...Object.fromEntries(names.map((name) => [name, undefined])) }).close()
  for (const edge of [
    { lastEventId: 2 ** 53 - 1 },
    { lastEventId: 'x'.repeat(256) },
    { lastEventId: '~ !' },
    { retryMs: Infinity },
    { maxRetries: 0, maxRetryMs: 0, connectTimeoutMs: 0, idleTimeoutMs: 0 },
    { maxBufferSize: Infinity },
    { maxBufferSize: 1 },
    { onEvicted: 'end' },
  ] as SseOptions[]) {
    connectSse('http://test/', { fetch, ...edge }).close()
  }
})

test.each([
  ['text', 'x'],
  ['bytes', Uint8Array.of(1)],
  ['a Blob', new Blob(['x'])],
  ['a form', new FormData()],
  ['parameters', new URLSearchParams()],
])('%s is a body that can be sent again', (_, body) => {
  connectSse('http://test/', { fetch, body }).close()
})
