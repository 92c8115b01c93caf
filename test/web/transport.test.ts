import { describe, expect, it } from 'vitest'
import { sseTransport as webTransport } from '../../src/web/index.ts'
import { ended, heard, over, type RequestShape, type Stream } from '../support/http-client.ts'
import { fakeClock, http2Open, serveTransports, WebStream, webRequest } from '../support/http-surfaces.ts'
import { settle, until, within } from '../support/until.ts'

type Transport = ReturnType<typeof webTransport>['transport']
type Options = NonNullable<Parameters<typeof webTransport>[1]>
interface Opened {
  readonly transport: Transport
  readonly stream: Stream
}
interface Way {
  readonly name: string
  open(options?: Options, request?: RequestShape): Promise<Opened>
}

const overNode = (http2: boolean) => async (options?: Options, request?: RequestShape) => {
  const served = await serveTransports(options, http2)
  const { server } = served
  const stream = http2 ? await http2Open(server.port, request) : await server.open(request)
  return { transport: served.transport, stream }
}

const ways: Way[] = [
  { name: 'node over HTTP/1.1', open: overNode(false) },
  { name: 'node over HTTP/2', open: overNode(true) },
  {
    name: 'web',
    open: async (options, request) => {
      const { transport, response } = webTransport(webRequest(request), options)
      return { transport, stream: new WebStream(response) }
    },
  },
]

describe.each(ways)('an SSE transport ($name)', ({ open }) => {
  it('has the head of a stream, and says `retry:` first', async () => {
    const { stream } = await open({ headers: { 'X-A': '1' } })
    await heard(stream, (t) => t.items.length > 0)
    expect(stream.status).toBe(200)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('cache-control')).toBe('no-cache, no-transform')
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    expect(stream.headers.get('x-a')).toBe('1')
    expect(stream.transcript.said).toEqual(['retry 3000'])
  })

  it('sends messages bare, with an id where one is given', async () => {
    const { transport, stream } = await open({ retryMs: 0 })
    await transport.send({ jsonrpc: '2.0', method: 'a' }, 7)
    await transport.send({ jsonrpc: '2.0', id: 1, result: 'ä\n€' })
    await heard(stream, (t) => t.blocks.length === 2)
    expect(stream.transcript.text).toBe(
      'id: 7\ndata: {"jsonrpc":"2.0","method":"a"}\n\ndata: {"jsonrpc":"2.0","id":1,"result":"ä\\n€"}\n\n',
    )
  })

  it('writes the epoch into ids where it was given one', async () => {
    const { transport, stream } = await open({ epoch: 'e1' })
    await transport.send({ a: 1 }, 7)
    await transport.cursor?.(8)
    await heard(stream, (t) => t.cursors.length === 1)
    expect(stream.transcript.said).toEqual(['retry 3000', 'e1:7 message', 'cursor e1:8'])
    expect(stream.transcript.text).toContain('id: e1:7\ndata: {"a":1}\n\nid: e1:8\nevent: cursor\ndata:\n\n')
  })

  it('writes cursor blocks', async () => {
    const { transport, stream } = await open()
    await transport.cursor?.(5)
    await heard(stream, (t) => t.cursors.length === 1)
    expect(stream.transcript.text).toContain('id: 5\nevent: cursor\ndata:\n\n')
  })

  it('keeps the order of what is sent, also of what nobody waits for', async () => {
    const { transport, stream } = await open()
    for (let n = 1; n <= 50; n++) void transport.send({ n }, n)
    await heard(stream, (t) => t.ids.length === 50)
    expect(stream.transcript.payloads).toEqual(Array.from({ length: 50 }, (_, index) => ({ n: index + 1 })))
  })

  it('says null where JSON gives nothing', async () => {
    const { transport, stream } = await open()
    await transport.send(undefined, 1)
    await heard(stream, (t) => t.ids.length === 1)
    expect(stream.transcript.payloads).toEqual([null])
  })

  it('rejects what JSON cannot carry, and goes on', async () => {
    const { transport, stream } = await open()
    await expect((async () => transport.send({ n: 1n }, 1))()).rejects.toThrow()
    await transport.send('fine', 2)
    await heard(stream, (t) => t.ids.length === 1)
    expect(stream.transcript.ids).toEqual([2])
    expect(transport.isClosed).toBe(false)
  })

  it('ends the response when it is closed, behind what was sent', async () => {
    const { transport, stream } = await open()
    void transport.send({ n: 1 }, 1)
    expect(transport.isClosed).toBe(false)
    transport.close('done')
    expect(transport.isClosed).toBe(true)
    await within(transport.closed, '`closed`')
    await ended(stream)
    expect(stream.transcript.ids).toEqual([1])
    transport.close()
  })

  it('is closed by the client that goes, once', async () => {
    const { transport, stream } = await open()
    await heard(stream, (t) => t.items.length > 0)
    stream.leave()
    await within(transport.closed, '`closed`')
    expect(transport.isClosed).toBe(true)
  })

  it('takes nothing once it is closed: a send is never reported as done', async () => {
    const { transport, stream } = await open()
    transport.close()
    await ended(stream)
    await expect((async () => transport.send({ n: 1 }, 1))()).rejects.toThrow()
    await settle()
    expect(stream.transcript.ids).toEqual([])
  })

  it('is over from the start for HEAD, which gets the head alone', async () => {
    const { transport, stream } = await open({ headers: { 'X-A': '1' } }, { method: 'HEAD' })
    await within(transport.closed, '`closed`')
    expect(transport.isClosed).toBe(true)
    await expect((async () => transport.send('R'))()).rejects.toMatchObject({ code: 'transport_closed' })
    await ended(stream)
    expect([stream.status, stream.headers.get('x-a'), stream.transcript.text]).toEqual([200, '1', ''])
  })

  it('refuses a message whose `toJSON` closes it', async () => {
    const { transport, stream } = await open()
    const toJSON = () => {
      transport.close()
      return 'late'
    }
    const sent = (async () => transport.send({ toJSON }))()
    await within(expect(sent).rejects.toMatchObject({ code: 'transport_closed' }), 'a send')
    await ended(stream)
    expect(stream.transcript.payloads).toEqual([])
  })

  it('sends heartbeats while it is idle, and none once it is closed', async () => {
    const clock = fakeClock()
    const { transport, stream } = await open({ heartbeatMs: 100 })
    await heard(stream, (t) => t.items.length > 0)
    await clock.pass(210)
    await heard(stream, (t) => t.comments.length > 0)
    transport.close()
    await over(stream)
    await settle()
    expect(clock.timers).toBe(0)
  })

  it('sends one every 8 s by default', async () => {
    const clock = fakeClock()
    const { stream } = await open()
    await heard(stream, (t) => t.items.length > 0)
    await clock.pass(7900)
    await settle()
    expect(stream.transcript.comments).toEqual([])
    await clock.pass(8200)
    await heard(stream, (t) => t.comments.length > 0)
  })

  it('knows `retryMs` as streams do', async () => {
    const { stream } = await open({ retryMs: 250 })
    await heard(stream, (t) => t.items.length > 0)
    expect(stream.transcript.said).toEqual(['retry 250'])
  })
})

describe('`sseTransport` throws for a bad option, in ./web', () => {
  it.each([
    ['heartbeatMs', -1, 'RangeError'],
    ['heartbeatMs', '1', 'TypeError'],
    ['retryMs', Number.NaN, 'RangeError'],
    ['stallTimeoutMs', null, 'TypeError'],
    ['epoch', 'a b', 'RangeError'],
    ['epoch', 7, 'TypeError'],
    ['headers', { Connection: 'close' }, 'TypeError'],
  ])('%s: %o', (name, value, kind) => {
    let error: unknown
    try {
      webTransport(webRequest(), { [name]: value } as Options)
    } catch (reason) {
      error = reason
    }
    expect(error).toMatchObject({ name: kind, message: expect.stringMatching(new RegExp(name, 'i')) })
  })
})

describe('a send', () => {
  it('in ./web resolves when the reader has taken the message, not before', async () => {
    const { transport, response } = webTransport(webRequest(), { stallTimeoutMs: 0, heartbeatMs: 0 })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    let sent = false
    const sending = Promise.resolve(transport.send({ n: 1 }, 1)).then(() => {
      sent = true
    })
    await settle(5)
    expect(sent).toBe(false)
    await reader.read()
    // A reader that goes on asks for more.
    const more = reader.read()
    await within(sending, 'the send')
    await reader.cancel()
    expect(await more).toMatchObject({ done: true })
    await within(transport.closed, '`closed`')
  })

  it('leaves in a chunk of its own: of many together, a slow client would look stuck', async () => {
    const { transport, response } = webTransport(webRequest(), { stallTimeoutMs: 0, heartbeatMs: 0 })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    const message = 'x'.repeat(16_000)
    for (let n = 0; n < 30; n++) void transport.send(message)
    transport.close()
    const sizes: number[] = []
    for (let read = await reader.read(); !read.done; read = await reader.read()) sizes.push(read.value.length)
    expect(sizes).toEqual(Array(30).fill(`data: "${message}"\n\n`.length))
  })

  it('that waits settles when the reader goes', async () => {
    const { transport, response } = webTransport(webRequest(), { stallTimeoutMs: 0, heartbeatMs: 0 })
    const sending = Promise.resolve(transport.send({ n: 1 }, 1)).then(
      () => 'sent',
      () => 'rejected',
    )
    await (response.body as ReadableStream<Uint8Array>).cancel()
    expect(await within(sending, 'the send')).toBe('rejected')
  })

  it('to a reader that never comes closes the transport after `stallTimeoutMs`', async () => {
    const clock = fakeClock()
    const { transport } = webTransport(webRequest(), { stallTimeoutMs: 1000, heartbeatMs: 0 })
    const sending = Promise.resolve(transport.send({ n: 1 }, 1)).then(
      () => 'sent',
      () => 'rejected',
    )
    await clock.pass(2500)
    await within(transport.closed, '`closed`')
    expect(await within(sending, 'the send')).toBe('rejected')
    expect(clock.timers).toBe(0)
  })

  it('to a request that was aborted before is rejected', async () => {
    const { transport } = webTransport(webRequest({}, AbortSignal.abort()))
    await until(() => transport.isClosed)
    await expect((async () => transport.send({}, 1))()).rejects.toThrow()
  })
})
