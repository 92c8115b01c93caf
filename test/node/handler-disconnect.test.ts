import { describe, expect, it } from 'vitest'
import { heard, type RawClient } from '../support/http-client.ts'
import { encode, type FetchHandler, handle, textOf } from '../support/http-fetch-handler.ts'
import { http2Open } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

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
