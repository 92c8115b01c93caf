import type { Server } from 'node:http'
import { describe, expect, it } from 'vitest'
import { toNodeHandler } from '../../src/node/index.ts'
import { ended, heard } from '../support/http-client.ts'
import { encode, type FetchHandler, handle, textOf } from '../support/http-fetch-handler.ts'
import { http2Open } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

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
