import { describe, expect, it } from 'vitest'
import { toNodeHandler } from '../../src/node/index.ts'
import { heard } from '../support/http-client.ts'
import { fakeExchange } from '../support/http-fakes.ts'
import { encode, handle, textOf } from '../support/http-fetch-handler.ts'
import { serve, spyOnWrites } from '../support/http-server.ts'
import { hops, settle, until } from '../support/until.ts'

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

  it('gathers what an event stream says in one turn of the loop, behind the first', async () => {
    let said = ''
    let wake = () => {}
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (said === '') await new Promise<void>((resolve) => (wake = resolve))
          controller.enqueue(encode(said))
          said = ''
        },
      },
      { highWaterMark: 0 },
    )
    const { req, res, socket } = fakeExchange()
    const writes = spyOnWrites(res)
    const headers = { 'content-type': 'text/event-stream' }
    const done = toNodeHandler(() => new Response(body, { headers }))(req, res)
    await settle()
    for (let id = 1; id <= 5; id++) {
      said += `id: ${id}\ndata: x\n\n`
      wake()
      await hops(20)
    }
    await until(() => socket.received.ids.length === 5)
    expect(writes.map((write) => write.match(/^id: /gm)?.length)).toEqual([1, 4])
    socket.destroy()
    await done
  })

  it('leaves in few writes of the socket where the chunks of an event stream are ready together', async () => {
    let writes = 0
    const server = await serve((req, res) => {
      const socket = req.socket as unknown as Record<'_write' | '_writev', (...given: unknown[]) => unknown>
      for (const name of ['_write', '_writev'] as const) {
        const write = socket[name]
        socket[name] = (...given) => {
          writes++
          return write.apply(socket, given)
        }
      }
      const handler = toNodeHandler(
        () =>
          new Response(
            new ReadableStream<Uint8Array>({
              start(controller) {
                for (let n = 0; n < 100; n++) controller.enqueue(encode(`data: ${n}\n\n`))
                controller.close()
              },
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          ),
      )
      return handler(req, res)
    })
    const text = await (await fetch(server.url())).text()
    expect(text.match(/^data: /gm)).toHaveLength(100)
    expect(writes).toBeLessThan(10)
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
