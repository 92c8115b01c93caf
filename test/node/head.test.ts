import { describe, expect, it } from 'vitest'
import { ended, heard } from '../support/http-client.ts'
import { http2Open, makeBus, publishNotes, serveBus } from '../support/http-surfaces.ts'

const FORBIDDEN = ['transfer-encoding', 'content-encoding', 'content-length', 'connection', 'keep-alive']

describe.each([
  { name: 'HTTP/1.1', http2: false },
  { name: 'HTTP/2', http2: true },
])('headers over $name', ({ http2 }) => {
  it('are set by hand only where they may be', async () => {
    const byHand: string[] = []
    const note = (headers: unknown) => {
      if (Array.isArray(headers))
        byHand.push(
          ...headers
            .filter((_, i) => i % 2 === 0)
            .flat()
            .map(String),
        )
      else if (headers !== null && typeof headers === 'object') byHand.push(...Object.keys(headers))
    }
    const bus = makeBus()
    const server = await serveBus(
      bus,
      {},
      {
        http2,
        before: (_req, response) => {
          const res = response as import('node:http').ServerResponse
          for (const name of ['setHeader', 'appendHeader'] as const) {
            const original = res[name].bind(res) as (...args: unknown[]) => unknown
            res[name] = ((...args: unknown[]) => {
              byHand.push(String(args[0]))
              return original(...args)
            }) as never
          }
          const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => unknown
          res.writeHead = ((...args: unknown[]) => {
            for (const arg of args) note(arg)
            return writeHead(...args)
          }) as never
        },
      },
    )
    if (http2) await http2Open(server.port)
    else await server.open()
    const { res } = await server.exchange()
    note(res.getHeaders())
    const names = byHand.map((name) => name.toLowerCase())
    expect(names).toEqual(expect.arrayContaining(['content-type', 'cache-control', 'x-accel-buffering']))
    for (const name of FORBIDDEN) expect(names).not.toContain(name)
  })

  it('that were set on the response before stay', async () => {
    const bus = makeBus()
    const server = await serveBus(
      bus,
      { headers: { 'X-Both': 'option' } },
      {
        http2,
        before: (_req, res) => {
          res.setHeader('X-Request-Id', '7')
          res.setHeader('Access-Control-Allow-Origin', '*')
          res.setHeader('Set-Cookie', ['a=1', 'b=2'])
          res.statusCode = 404
        },
      },
    )
    const client = http2 ? await http2Open(server.port) : await server.open()
    expect(client.status).toBe(200)
    expect(client.headers.get('x-request-id')).toBe('7')
    expect(client.headers.get('access-control-allow-origin')).toBe('*')
    expect(client.headers.get('set-cookie')?.split(/[,;] ?/)).toEqual(['a=1', 'b=2'])
    expect(client.headers.get('content-type')).toBe('text/event-stream')
    expect(client.headers.get('x-both')).toBe('option')
  })

  it('make Node warn about nothing', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    try {
      const bus = makeBus()
      const server = await serveBus(bus, {}, { http2 })
      const client = http2 ? await http2Open(server.port) : await server.open()
      publishNotes(bus, 3)
      await heard(client, (t) => t.ids.length === 3)
      bus.close()
      await ended(client)
      await new Promise(setImmediate)
    } finally {
      process.off('warning', note)
    }
    expect(warnings).toEqual([])
  })
})

describe('over HTTP/2', () => {
  it('headers need no `appendHeader`, which its responses have only from Node 20.12 on', async () => {
    const server = await serveBus(
      makeBus(),
      { headers: { 'Set-Cookie': 'c=3' } },
      { http2: true, before: (_req, res) => Object.assign(res, { appendHeader: undefined }) },
    )
    const client = await http2Open(server.port)
    expect(client.status).toBe(200)
    expect(client.headers.get('set-cookie')).toBe('c=3')
  })
})

describe('over HTTP/1.1', () => {
  it('a header of the options takes the place of the same one on the response, whatever the case', async () => {
    const server = await serveBus(
      makeBus(),
      { headers: { 'x-both': 'option' } },
      { before: (_req, res) => res.setHeader('X-Both', 'response') },
    )
    const client = await server.open()
    expect(client.headers.get('x-both')).toBe('option')
    expect(client.headText.match(/^x-both:/gim)).toHaveLength(1)
  })

  it('a cookie of the options joins those that the response has', async () => {
    const server = await serveBus(
      makeBus(),
      { headers: { 'Set-Cookie': 'c=3' } },
      { before: (_req, res) => res.setHeader('Set-Cookie', ['a=1', 'b=2']) },
    )
    const client = await server.open()
    expect(client.headText.match(/^set-cookie: .*$/gim)?.map((line) => line.slice(12))).toEqual([
      'a=1',
      'b=2',
      'c=3',
    ])
  })

  it('the head and `retry:` leave without waiting for an event', async () => {
    const bus = makeBus()
    const server = await serveBus(bus)
    const client = await server.open()
    await heard(client, (t) => t.items.length > 0)
    expect(client.transcript.items[0]).toEqual({ kind: 'retry', ms: 3000 })
    expect(bus.stats().published).toBe(0)
  })

  it('a cursor header that was sent twice is invalid, not the first of the two', async () => {
    const bus = makeBus()
    publishNotes(bus, 9)
    const server = await serveBus(bus)
    const client = await server.open({
      headers: [
        ['Last-Event-ID', '5'],
        ['last-event-id', '7'],
      ],
    })
    await heard(client, (t) => t.cursors.length > 0)
    expect(client.transcript.control('state_resync_required')).toMatchObject([{ reason: 'invalid_cursor' }])
    expect(client.transcript.ids).toEqual([])
  })

  it('an HTTP/1.0 client gets a stream without chunked coding', async () => {
    const bus = makeBus()
    publishNotes(bus, 2)
    const server = await serveBus(bus)
    const client = await server.open({ version: '1.0', headers: { 'Last-Event-ID': '0' } })
    await heard(client, (t) => t.ids.length === 2)
    expect(client.headers.get('transfer-encoding')).toBe(null)
    bus.close()
    await ended(client)
  })

  it('a query without a path, or a strange target, does no harm', async () => {
    const bus = makeBus()
    publishNotes(bus, 2)
    const server = await serveBus(bus)
    for (const path of ['/?lastEventId=1&x=%', '//a//b?lastEventId=1', '*', '/%zz?lastEventId=1']) {
      const client = await server.open({ path, method: path === '*' ? 'OPTIONS' : 'GET' })
      expect(client.status, path).toBe(200)
      if (path === '*') continue
      await heard(client, (t) => t.control('replay_complete').length > 0)
      expect(client.transcript.ids, path).toEqual([2])
    }
  })
})
