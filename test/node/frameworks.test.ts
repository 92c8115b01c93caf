import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import compression from 'compression'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveSse, toNodeHandler } from '../../src/node/index.ts'
import { sseResponse } from '../../src/web/index.ts'
import { ended, heard, RawClient } from '../support/http-client.ts'
import { makeBus, publishNotes, WebStream } from '../support/http-surfaces.ts'
import { elapsed, until, within } from '../support/until.ts'

type Bus = ReturnType<typeof makeBus>

interface Framework {
  readonly name: string
  /** Starts an app whose `GET /events` is a stream of the bus and whose `POST /events`, with JSON, is one too. */
  start(bus: Bus): Promise<{ port: number; close(): Promise<unknown> }>
}

async function listening(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

const frameworks: Framework[] = [
  {
    name: 'Express 5',
    start: (bus) => {
      const app = express()
      app.get('/events', (req, res) => serveSse(bus, req, res))
      app.post('/events', express.json(), (req, res) => serveSse(bus, req, res))
      return listening(createServer(app))
    },
  },
  {
    name: 'Express 5 with compression',
    start: (bus) => {
      const app = express()
      app.use(compression({ threshold: 0 }))
      app.get('/events', (req, res) => serveSse(bus, req, res))
      app.post('/events', express.json(), (req, res) => serveSse(bus, req, res))
      return listening(createServer(app))
    },
  },
  {
    name: 'Fastify 5',
    start: async (bus) => {
      const app = fastify({ forceCloseConnections: false })
      app.route({
        method: ['GET', 'POST'],
        url: '/events',
        exposeHeadRoute: false,
        handler: (request, reply) => {
          reply.hijack()
          return serveSse(bus, request.raw, reply.raw)
        },
      })
      await app.listen({ port: 0, host: '127.0.0.1' })
      onTestFinished(() => app.server.closeAllConnections())
      return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
    },
  },
  {
    name: 'Koa 3',
    start: (bus) => {
      const app = new Koa()
      app.use(async (context, next) => {
        if (context.path !== '/events') return next()
        if (context.method === 'POST')
          for await (const _ of context.req) {
          }
        context.respond = false
        return serveSse(bus, context.req, context.res)
      })
      return listening(createServer(app.callback()))
    },
  },
  {
    name: 'Hono 4 behind toNodeHandler',
    start: (bus) => {
      const app = new Hono()
      app.get('/events', (context) => sseResponse(bus, context.req.raw))
      app.post('/events', async (context) => {
        await context.req.json()
        return sseResponse(bus, context.req.raw)
      })
      const handler = toNodeHandler((request) => app.fetch(request))
      return listening(createServer(handler as (req: IncomingMessage, res: ServerResponse) => void))
    },
  },
]

describe.each(frameworks)('$name', ({ start }) => {
  it('serves a live stream, uncompressed, each event as it comes', async () => {
    const bus = makeBus()
    const { port } = await start(bus)
    const client = await new RawClient(port, {
      path: '/events',
      headers: { 'Accept-Encoding': 'gzip, br' },
    }).head()
    expect(client.status).toBe(200)
    expect(client.headers.get('content-type')).toBe('text/event-stream')
    expect(client.headers.get('content-encoding')).toBe(null)
    await heard(client, (t) => t.cursors.length > 0)
    for (let n = 1; n <= 3; n++) {
      publishNotes(bus, 1)
      await heard(client, (t) => t.ids.length === n)
    }
    expect(client.transcript.said).toEqual([
      'retry 3000',
      'cursor e1:0',
      'e1:1 note',
      'e1:2 note',
      'e1:3 note',
    ])
  })

  it('resumes a client, by header and by query', async () => {
    const bus = makeBus()
    const { port } = await start(bus)
    publishNotes(bus, 5)
    for (const request of [
      { path: '/events', headers: { 'Last-Event-ID': 'e1:3' } },
      { path: '/events?lastEventId=e1:3' },
    ]) {
      const client = new RawClient(port, request)
      await heard(client, (t) => t.control('replay_complete').length > 0)
      expect(client.transcript.ids).toEqual([4, 5])
    }
  })

  it('serves a stream to a POST whose body was read', async () => {
    const bus = makeBus()
    const { port } = await start(bus)
    const client = new RawClient(port, {
      path: '/events',
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"a":1}',
    })
    await heard(client, (t) => t.cursors.length > 0)
    publishNotes(bus, 2)
    await heard(client, (t) => t.ids.length === 2)
    client.destroy()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
  })

  it('frees the subscriber of a client that goes', async () => {
    const bus = makeBus()
    const { port } = await start(bus)
    const client = new RawClient(port, { path: '/events' })
    await heard(client, (t) => t.cursors.length > 0)
    client.destroy()
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
  })

  it('closes within a second of `bus.close()`', async () => {
    const bus = makeBus()
    const { port, close } = await start(bus)
    const clients = [1, 2, 3].map(
      () => new RawClient(port, { path: '/events', headers: { Connection: 'keep-alive' } }),
    )
    for (const client of clients) await heard(client, (t) => t.cursors.length > 0)
    const took = await elapsed(async () => {
      bus.close()
      await within(close(), 'the app to close')
    })
    expect(took).toBeLessThan(1000)
    for (const client of clients) await ended(client)
  })

  it('answers an ended bus with 204', async () => {
    const bus = makeBus()
    const { port } = await start(bus)
    publishNotes(bus, 1)
    bus.end()
    const client = await new RawClient(port, { path: '/events', headers: { 'Last-Event-ID': 'e1:1' } }).head()
    expect(client.status).toBe(204)
  })
})

describe('Express 5', () => {
  it('hands a bad option to its error handler, and the response is still unwritten', async () => {
    const app = express()
    app.get('/events', (req, res) => serveSse(makeBus(), req, res, { heartbeatMs: -1 }))
    const failures: unknown[] = []
    app.use((error: unknown, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
      failures.push(error)
      res.status(500).end()
    })
    const { port } = await listening(createServer(app))
    const client = await new RawClient(port, { path: '/events' }).head()
    expect(client.status).toBe(500)
    expect(failures).toMatchObject([{ name: 'RangeError' }])
  })

  it('with compression that ignores no-transform still gets each event at once', async () => {
    const bus = makeBus()
    const app = express()
    app.use(compression({ threshold: 0, filter: () => true }))
    app.get('/events', (req, res) => serveSse(bus, req, res, { headers: { 'Cache-Control': 'no-cache' } }))
    const { port } = await listening(createServer(app))
    const response = await fetch(`http://127.0.0.1:${port}/events`, {
      headers: { 'Accept-Encoding': 'gzip' },
    })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const stream = new WebStream(response)
    await heard(stream, (t) => t.cursors.length > 0)
    for (let n = 1; n <= 3; n++) {
      publishNotes(bus, 1)
      await heard(stream, (t) => t.ids.length === n)
    }
    bus.close()
    await ended(stream)
  })
})

describe('Hono 4', () => {
  it('serves a stream from its own fetch', async () => {
    const bus = makeBus()
    publishNotes(bus, 2)
    const app = new Hono()
    app.use(async (context, next) => {
      await next()
      context.header('X-Middleware', 'ran')
    })
    app.get('/events', (context) => sseResponse(bus, context.req.raw))
    const response = await app.fetch(new Request('http://host/events', { headers: { 'Last-Event-ID': '0' } }))
    const stream = new WebStream(response)
    await heard(stream, (t) => t.control('replay_complete').length > 0)
    expect(stream.headers.get('x-middleware')).toBe('ran')
    expect(stream.transcript.ids).toEqual([1, 2])
    stream.leave()
    await until(() => bus.subscriberCount === 0)
  })
})
