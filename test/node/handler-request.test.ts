import { describe, expect, it } from 'vitest'
import { ended } from '../support/http-client.ts'
import { handle, textOf } from '../support/http-fetch-handler.ts'
import { http2Open } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

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
