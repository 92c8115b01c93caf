import { once } from 'node:events'
import { createServer as createHttp, get } from 'node:http'
import {
  connect,
  createServer as createHttp2,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { serveSse, toNodeHandler } from '../../src/node/index.ts'
import { sseResponse } from '../../src/web/index.ts'

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

describe('a bus that is served over Node and over fetch', () => {
  it('gives each reader bytes of its own: one that overwrites them harms nobody', async () => {
    const bus = new EventBus({ epoch: 'e' })
    const server = createHttp((req, res) => void serveSse(bus, req, res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const [response] = await once(get({ port, host: '127.0.0.1' }), 'response')
    let heard = ''
    response.on('data', (chunk: Buffer) => {
      heard += chunk
    })
    await once(response, 'data')
    const reader = sseResponse(bus, new Request('http://localhost/')).body?.getReader()
    await reader?.read()
    const reading = reader?.read()
    bus.publish({ type: 'a', data: 1 })
    const { value } = (await reading) as { value: Uint8Array }
    expect(text(value)).toContain('"data":1')
    value.fill(88)
    const late = sseResponse(bus, new Request('http://localhost/', { headers: { 'Last-Event-ID': '0' } }))
    const lateReader = late.body?.getReader()
    await lateReader?.read()
    expect(text((await lateReader?.read())?.value)).toContain('"data":1')
    if (!heard.includes('"data":1')) await once(response, 'data')
    expect(heard).toContain('"data":1')
    await Promise.all([reader?.cancel(), lateReader?.cancel()])
    bus.close()
    server.close()
    await once(server, 'close')
  })
})

type Handler = (req: Http2ServerRequest, res: Http2ServerResponse) => void

const HANDLERS: [string, (bus: EventBus) => Handler][] = [
  ['serveSse', (bus) => (req, res) => void serveSse(bus, req, res)],
  ['toNodeHandler', (bus) => toNodeHandler((request) => sseResponse(bus, request))],
]

describe('a server of HTTP/2 whose clients keep their session', () => {
  it.each(HANDLERS)('closes when its bus has closed (%s)', async (_name, handlerOf) => {
    const bus = new EventBus()
    const server = createHttp2(handlerOf(bus)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const stream = client.request({ ':path': '/' })
    await once(stream, 'data')
    bus.close()
    server.close()
    await once(server, 'close')
    expect(bus.subscriberCount).toBe(0)
    client.destroy()
  })
})

describe('overlapping reads of a web body', () => {
  it('are all answered, one event each', async () => {
    const bus = new EventBus()
    const reader = sseResponse(bus, new Request('http://localhost/')).body?.getReader()
    await reader?.read()
    const reads = [reader?.read(), reader?.read(), reader?.read()]
    for (const data of [1, 2, 3]) {
      bus.publish({ type: 'n', data })
      await null
      await null
      await null
    }
    const answers = await Promise.all(reads)
    expect(answers.map((answer) => text(answer?.value).match(/"data":(\d)/)?.[1])).toEqual(['1', '2', '3'])
    await reader?.cancel()
  })
})

describe('the request that a fetch handler gets', () => {
  it.each(['//other/path?x=1', '/\\other'])(
    'has the host of its header, whatever its path: %s',
    async (path) => {
      const seen: string[] = []
      const handler = toNodeHandler((request) => {
        seen.push(new URL(request.url).host)
        return new Response('ok')
      })
      const server = createHttp(handler).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const [response] = await once(get({ port, host: '127.0.0.1', path }), 'response')
      response.resume()
      await once(response, 'end')
      expect(seen).toEqual([`127.0.0.1:${port}`])
      server.closeAllConnections()
      server.close()
    },
  )

  it('is answered 500 where the head of the answer cannot be written', async () => {
    const handler = toNodeHandler(() => Response.error())
    const server = createHttp(handler).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const [response] = await once(
      get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }),
      'response',
    )
    expect(response.statusCode).toBe(500)
    response.resume()
    await once(response, 'end')
    server.closeAllConnections()
    server.close()
  })
})

describe('the fragment of a URL', () => {
  it('is no part of its query', async () => {
    const bus = new EventBus({ epoch: 'e' })
    bus.publish({ type: 'a' })
    bus.publish({ type: 'a' })
    const reader = sseResponse(bus, new Request('http://localhost/?lastEventId=1#top')).body?.getReader()
    await reader?.read()
    expect(text((await reader?.read())?.value)).toContain('id: e:2\n')
    await reader?.cancel()
  })
})
