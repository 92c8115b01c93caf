import type { Server } from 'node:http'
import { describe, expect, it } from 'vitest'
import { toNodeHandler } from '../../src/node/index.ts'
import { ended, heard, over, type RawClient, type RequestShape } from '../support/http-client.ts'
import { serve, type TestServer } from '../support/http-server.ts'
import { http2Open } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

type FetchHandler = (request: Request) => Response | Promise<Response>

function handle(
  handler: FetchHandler,
  how: { http2?: boolean; highWaterMark?: number } = {},
): Promise<TestServer> {
  const adapted = toNodeHandler(handler)
  return serve((req, res) => adapted(req, res), { readsBody: true, ...how })
}

/** The body of an answer as text, once it is complete. */
async function textOf(
  server: TestServer,
  request?: RequestShape,
): Promise<{ client: RawClient; text: string }> {
  const client = server.connect(request)
  let text = ''
  const decoder = new TextDecoder()
  client.transcript.feed = (chunk: Uint8Array) => {
    text += decoder.decode(chunk, { stream: true })
  }
  await over(client)
  return { client, text }
}

const encode = (text: string) => new TextEncoder().encode(text)

describe('the request that a fetch handler gets', () => {
  it('has method, absolute URL and headers', async () => {
    const server = await handle((request) =>
      Response.json({
        method: request.method,
        url: request.url,
        x: request.headers.get('x-a'),
        body: request.body,
      }),
    )
    const { text } = await textOf(server, {
      path: '/a/b?c=%20d',
      headers: [
        ['Host', 'example.test:81'],
        ['X-A', '1'],
        ['x-a', '2'],
      ],
    })
    expect(JSON.parse(text)).toEqual({
      method: 'GET',
      url: 'http://example.test:81/a/b?c=%20d',
      x: '1, 2',
      body: null,
    })
  })

  it('has no pseudo headers over HTTP/2, and its authority as host', async () => {
    let seen: { url: string; names: string[] } | undefined
    const server = await handle(
      (request) => {
        seen = { url: request.url, names: [...request.headers.keys()] }
        return new Response('ok')
      },
      { http2: true },
    )
    const client = await http2Open(server.port, { path: '/x' })
    expect(client.status).toBe(200)
    expect(seen?.url).toBe(`http://127.0.0.1:${server.port}/x`)
    expect(seen?.names.filter((name) => name.startsWith(':'))).toEqual([])
  })

  it('has a body, whole and byte for byte', async () => {
    const server = await handle(async (request) => new Response(await request.text()))
    const body = 'ä€𝄞'.repeat(50_000)
    const { text } = await textOf(server, { method: 'POST', body })
    expect(text).toBe(body)
  })

  it('has a body that streams: its first chunk is there before the last was sent', async () => {
    const first: string[] = []
    const server = await handle(async (request) => {
      const reader = (request.body as ReadableStream<Uint8Array>).getReader()
      const { value } = await reader.read()
      first.push(Buffer.from(value as Uint8Array).toString())
      while (!(await reader.read()).done) {}
      return new Response('done')
    })
    const client = server.connect({ method: 'POST', headers: { 'Content-Length': '10' } })
    client.socket.write('first')
    await until(() => first.length === 1)
    client.socket.write('after')
    await ended(client)
    expect(first).toEqual(['first'])
  })

  it('has a body that fails when the client goes before it was sent', async () => {
    const failures: unknown[] = []
    const server = await handle(async (request) => {
      await request.text().catch((error: unknown) => failures.push(error))
      return new Response('')
    })
    const client = server.connect({ method: 'POST', headers: { 'Content-Length': '10' } })
    client.socket.write('half')
    await server.exchange()
    await settle()
    client.destroy()
    await until(() => failures.length === 1)
  })

  it('may be answered without its body being read', async () => {
    const server = await handle(() => new Response('no', { status: 413 }))
    const client = await server.open({ method: 'POST', body: 'x'.repeat(100_000) })
    expect(client.status).toBe(413)
  })
})

describe('the response of a fetch handler', () => {
  it('comes with status, headers and body', async () => {
    const server = await handle(
      () => new Response('hello', { status: 201, headers: { 'X-A': '1', ETag: '"e"' } }),
    )
    const { client, text } = await textOf(server)
    expect(client.status).toBe(201)
    expect(client.headers.get('x-a')).toBe('1')
    expect(client.headers.get('etag')).toBe('"e"')
    expect(text).toBe('hello')
  })

  it('keeps several cookies apart', async () => {
    const server = await handle(() => {
      const headers = new Headers()
      headers.append('Set-Cookie', 'a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT')
      headers.append('Set-Cookie', 'b=2')
      return new Response('', { headers })
    })
    const client = await server.open()
    expect(client.headText.match(/^set-cookie: .*$/gim)).toEqual([
      expect.stringMatching(/a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT$/),
      expect.stringMatching(/b=2$/),
    ])
  })

  it.each([204, 304])('may have no body (%i)', async (status) => {
    const server = await handle(() => new Response(null, { status }))
    const client = await server.open()
    expect(client.status).toBe(status)
    await until(() => server.exchanges[0]?.settled === true, 'the handler to settle')
  })

  it('arrives chunk by chunk, as it is made', async () => {
    let push: (text: string) => void = () => {}
    const server = await handle(
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            start(controller) {
              push = (text) => controller.enqueue(encode(text))
            },
          }),
        ),
    )
    const client = await server.open()
    for (let n = 1; n <= 3; n++) {
      push(`id: ${n}\ndata: 1\n\n`)
      await heard(client, (t) => t.ids.length === n)
    }
    client.destroy()
  })

  it('is not made faster than the client takes it', async () => {
    let made = 0
    const server = await handle(
      () =>
        new Response(
          new ReadableStream<Uint8Array>(
            {
              pull(controller) {
                made += 65_536
                controller.enqueue(new Uint8Array(65_536))
                if (made >= 64 * 1_048_576) controller.close()
              },
            },
            { highWaterMark: 0 },
          ),
        ),
    )
    const client = server.connect()
    client.stopReading()
    let before = -1
    await server.exchange()
    while (made !== before) {
      before = made
      await settle(10)
    }
    // The kernel's own buffers hold a few megabytes; the whole is 64.
    expect(made).toBeLessThan(32 * 1_048_576)
    client.destroy()
  })

  it('to HEAD has the head alone, and its body is cancelled', async () => {
    let cancelled = 0
    const server = await handle(
      () =>
        new Response(
          new ReadableStream({
            cancel() {
              cancelled++
            },
          }),
          { headers: { 'X-A': '1' } },
        ),
    )
    const client = await server.open({ method: 'HEAD' })
    expect(client.status).toBe(200)
    expect(client.headers.get('x-a')).toBe('1')
    await until(() => cancelled === 1)
    await until(() => server.exchanges[0]?.settled === true, 'the handler to settle')
  })
})

describe('a client that goes', () => {
  const endless = () => {
    const seen = { cancelled: 0, aborted: 0 }
    const handler: FetchHandler = (request) => {
      request.signal.addEventListener('abort', () => seen.aborted++)
      return new Response(
        new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(encode('id: 1\ndata: 1\n\n'))
          },
          cancel() {
            seen.cancelled++
          },
        }),
      )
    }
    return { seen, handler }
  }

  it.each([
    ['destroys its socket', (client: RawClient) => client.destroy()],
    ['resets its connection', (client: RawClient) => client.reset()],
    ['half-closes', (client: RawClient) => client.halfClose()],
  ])('(%s) aborts the request and cancels the body, once', async (_name, leave) => {
    const { seen, handler } = endless()
    const server = await handle(handler)
    const client = await server.open()
    await heard(client, (t) => t.ids.length === 1)
    leave(client)
    await until(() => seen.cancelled > 0 && seen.aborted > 0)
    await settle()
    expect(seen).toEqual({ cancelled: 1, aborted: 1 })
    await until(() => server.exchanges[0]?.settled === true, 'the handler to settle')
  })

  it('closes its HTTP/2 stream aborts and cancels as well', async () => {
    const { seen, handler } = endless()
    const server = await handle(handler, { http2: true })
    const client = await http2Open(server.port)
    await heard(client, (t) => t.ids.length === 1)
    client.leave()
    await until(() => seen.cancelled > 0 && seen.aborted > 0)
    await settle()
    expect(seen).toEqual({ cancelled: 1, aborted: 1 })
  })

  it('before the handler has answered aborts the request, and the late body is cancelled', async () => {
    const seen = { cancelled: 0, aborted: 0 }
    let answer: () => void = () => {}
    const server = await handle(async (request) => {
      request.signal.addEventListener('abort', () => seen.aborted++)
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return new Response(
        new ReadableStream({
          cancel() {
            seen.cancelled++
          },
        }),
      )
    })
    const client = server.connect()
    await server.exchange()
    await settle()
    client.destroy()
    await until(() => seen.aborted === 1)
    answer()
    await until(() => seen.cancelled === 1)
    await until(() => server.exchanges[0]?.settled === true, 'the handler to settle')
  })

  it('after a complete answer aborts nothing', async () => {
    let aborted = 0
    const server = await handle((request) => {
      request.signal.addEventListener('abort', () => aborted++)
      return new Response('done')
    })
    const { client } = await textOf(server, { headers: { Connection: 'keep-alive' } })
    expect(client.ended).toBe(true)
    client.destroy()
    await settle(5)
    expect(aborted).toBe(0)
  })

  it('of a request whose body was read is noticed, and not before it has gone', async () => {
    const { seen, handler } = endless()
    const server = await handle(async (request) => {
      await request.text()
      return handler(request)
    })
    const client = await server.open({ method: 'POST', body: 'x'.repeat(1000) })
    await heard(client, (t) => t.ids.length === 1)
    await settle(5)
    expect(seen.aborted).toBe(0)
    client.destroy()
    await until(() => seen.cancelled === 1)
  })
})

describe('a fetch handler that fails', () => {
  const failures: [string, FetchHandler][] = [
    [
      'throws',
      () => {
        throw new Error('secret')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('secret'))],
    ['returns nothing', (() => undefined) as never],
    ['returns something else', (() => ({ status: 200 })) as never],
    [
      'returns a response whose body was used',
      async () => {
        const response = new Response('x')
        await response.text()
        return response
      },
    ],
  ]

  it.each(failures)('(%s) is answered with 500, and its message is not shown', async (_name, handler) => {
    const server = await handle(handler)
    const { client, text } = await textOf(server)
    expect(client.status).toBe(500)
    expect(`${client.headText}${text}`).not.toContain('secret')
  })

  it.each([
    ['HTTP/1.1', false],
    ['HTTP/2', true],
  ])('in the middle of its body tears the response: it never looks complete (%s)', async (_name, http2) => {
    let fail: () => void = () => {}
    const server = await handle(
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            start(controller) {
              controller.enqueue(encode('id: 1\ndata: 1\n\n'))
              fail = () => controller.error(new Error('body failed'))
            },
          }),
        ),
      { http2 },
    )
    const client = http2 ? await http2Open(server.port) : await server.open()
    await heard(client, (t) => t.ids.length === 1)
    fail()
    await until(() => client.closed)
    expect(client.ended).toBe(false)
  })

  it('with a request that has no sensible URL does not take the server down', async () => {
    const server = await handle((request) => new Response(request.url))
    for (const host of ['a b', '[::1', 'x:99999999', '']) {
      const client = await server.open({ headers: { Host: host } })
      expect(client.status, host).toBeGreaterThan(0)
    }
    const { text } = await textOf(server)
    expect(text).toBe(server.url())
  })

  it('is no reason for an unhandled rejection', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    try {
      const server = await handle(async () => {
        throw new Error('x')
      })
      await textOf(server)
      await settle()
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(unhandled).toEqual([])
  })
})

describe('`toNodeHandler`', () => {
  it('refuses what is no function', () => {
    for (const handler of [undefined, null, {}, 'x']) {
      expect(() => toNodeHandler(handler as never)).toThrow(TypeError)
    }
  })

  it('lets a connection live on for the next request', async () => {
    const server = await handle((request) => new Response(new URL(request.url).pathname))
    const client = await server.open({ path: '/one', headers: { Connection: 'keep-alive' } })
    await ended(client)
    let text = ''
    client.socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    client.socket.write('GET /two HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => text.includes('/two'))
    expect((server.server as Server).listening).toBe(true)
  })
})
