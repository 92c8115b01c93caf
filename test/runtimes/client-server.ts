/** The one Node server that the client of every runtime is tried against. Paths are `/<key>/<what>`; state is per key. */

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Project } from '../package/support/project.ts'

type Root = typeof import('../../src/index.ts')
type Node = typeof import('../../src/node/index.ts')
type Web = typeof import('../../src/web/index.ts')

export interface ClientServer {
  readonly origin: string
  close(): Promise<void>
}

export async function startClientServer(project: Project): Promise<ClientServer> {
  const load = (entry: string) => import(join(project.packageDirectory, `dist/${entry}.js`))
  const { EventBus } = (await load('index')) as Root
  const { serveSse } = (await load('node')) as Node
  const { sseResponse } = (await load('web')) as Web

  const busOf = (epoch: string, type: string, data: readonly unknown[]) => {
    const bus = new EventBus({ epoch })
    for (const each of data) bus.publish({ type, data: each })
    return bus
  }
  type Bus = ReturnType<typeof busOf>
  const endedBus = (...of: Parameters<typeof busOf>) => {
    const bus = busOf(...of)
    bus.end()
    return bus
  }
  const texts = (count: number) => Array.from({ length: count }, (_, at) => `p${at + 1}`)

  const ended = endedBus('a', 'text', texts(10))
  const before = endedBus('a', 'paid', [1, 2])
  const after = endedBus('b', 'paid', [10, 20])
  const live = new Map<string, Bus>()
  const visits = new Map<string, number>()

  const liveOf = (key: string) => {
    const bus = live.get(key) ?? busOf('a', 'text', texts(3))
    live.set(key, bus)
    return bus
  }

  /** What the web adapter would answer, whole. */
  const answer = async (bus: Bus, req: IncomingMessage) => {
    const headers = { 'last-event-id': `${req.headers['last-event-id'] ?? ''}` }
    const response = sseResponse(bus, new Request('http://host/', { headers }), { retryMs: 1 })
    return { status: response.status, body: await response.text() }
  }

  const send = (res: ServerResponse, status: number, body: string, type = 'text/event-stream') =>
    res.writeHead(status, { 'content-type': type }).end(body)

  /** How often this path was asked for, this time included. */
  const visit = (path: string) => {
    const count = (visits.get(path) ?? 0) + 1
    visits.set(path, count)
    return count
  }

  const routes: Record<string, (req: IncomingMessage, res: ServerResponse, key: string) => unknown> = {
    async cut(req, res) {
      const { status, body } = await answer(ended, req)
      const fourth = [...body.matchAll(/^id: /gm)][3]
      if (fourth === undefined) send(res, status, body)
      else {
        res.writeHead(status, { 'content-type': 'text/event-stream' })
        res.write(body.slice(0, fourth.index + 20), () => res.destroy())
      }
    },
    async restarted(req, res, key) {
      const { status, body } = await answer(visit(`${key}/restarted`) === 1 ? before : after, req)
      send(res, status, body)
    },
    state: (_req, res) => send(res, 200, '{"cursor":"b:1","total":10}', 'application/json'),
    async echo(req, res) {
      const { method, headers } = req
      const { authorization, 'last-event-id': lastEventId } = headers
      const data = JSON.stringify({ method, authorization, lastEventId, body: await text(req) })
      send(res, 200, `retry: 1\n\nid: x:1\ndata: ${data}\n\n`)
    },
    refused: (_req, res) => send(res, 403, 'not you', 'text/plain'),
    silent(_req, res, key) {
      if (visit(`${key}/silent`) > 1) res.writeHead(204).end()
      else {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write('retry: 1\n\nid: a:1\nevent: text\ndata: {"id":1,"v":1,"type":"text","data":"p1"}\n\n')
      }
    },
    live: (req, res, key) => serveSse(liveOf(key), req, res),
    publish(_req, res, key) {
      liveOf(key).publish({ type: 'text', data: 'p4' })
      res.end()
    },
    open: (_req, res, key) => send(res, 200, `${liveOf(key).subscriberCount}`, 'application/json'),
  }

  /** For a page: itself, the package, the scenario. */
  const file = async (res: ServerResponse, folder: string, name: string) =>
    send(res, 200, await readFile(join(folder, name), 'utf8'), 'text/javascript')

  const server = createServer(async (req, res) => {
    const [, key = '', what = ''] = (req.url ?? '').split('/')
    if (key === 'page') send(res, 200, '<!doctype html>', 'text/html')
    else if (key === 'dist') await file(res, join(project.packageDirectory, 'dist'), what)
    else if (key === 'client-scenario.mjs') await file(res, import.meta.dirname, key)
    else if (routes[what]) await routes[what](req, res, key)
    else send(res, 404, 'unknown', 'text/plain')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
