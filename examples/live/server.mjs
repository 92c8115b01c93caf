/** The demo's server: one bus, its state, one page, and a door for each of the page's buttons. Loopback only. */
import { createServer } from 'node:http'
import { EventBus } from 'resumable-bus'
import { serveSse } from 'resumable-bus/node'
import { formatSseFrame } from 'resumable-bus/sse'
import { pageFiles } from '../shared/files.mjs'
import {
  closeServer,
  endAtSignals,
  fromEnvironment,
  giveUp,
  isLocal,
  json,
  listen,
  plain,
  serveFile,
} from '../shared/serving.mjs'
import { Clients, READERS } from './clients.mjs'
import { Snapshots } from './snapshots.mjs'
import { openSource } from './source.mjs'

const DEFAULT_PORT = 4000

/** Small on purpose: a person should live to see a queue overflow and a ring move on. */
const RING_SIZE = 256
const MAX_QUEUED = 64

/** A page is back in a second and a half; long enough to miss a dozen figures. */
const RETRY_MS = 1500
/** Long, so that slow input still fills a queue before the server gives up on a socket that takes nothing. */
const STALL_TIMEOUT_MS = 120_000
/** Bytes a socket takes before `write` says false. Small, so that a held page soon costs its queue and not the socket. */
const SOCKET_BUFFER = 1024
/** How many events "Send again" repeats. */
const REPEATED = 5

const readPageFile = pageFiles(new URL('./public/', import.meta.url), 'client')

/**
 * Serves until `close()`.
 *
 * @param {{ port: number | undefined, linesPerSecond: number | undefined }} options Without a port: 4000, or the next
 *   free one.
 * @returns {Promise<{ url: string, source: { kind: string }, close(): Promise<void> }>}
 */
export async function startDemo({ port, linesPerSecond }) {
  const clients = new Clients()
  const openBus = () =>
    new EventBus({
      ringSize: RING_SIZE,
      maxQueued: MAX_QUEUED,
      onDiagnostic: ({ type }) => {
        if (type === 'client_evicted') clients.evicted()
      },
    })
  let bus = openBus()
  const snapshots = new Snapshots()
  let newest = []
  const source = openSource(
    (input) => {
      const event = bus.publish(input)
      if (event === undefined) return // closed
      snapshots.add(event)
      newest = [...newest.slice(1 - REPEATED), event]
    },
    { linesPerSecond },
  )

  function restart() {
    const old = bus
    bus = openBus()
    newest = []
    old.close({ drain: false })
  }

  /** What a server that keeps no books would do after a reconnect: events that the client has go out once more. */
  function repeat(client) {
    const { epoch } = bus
    clients.write(client, newest.map((event) => formatSseFrame(event, { epoch, event: false })).join(''))
  }

  /** A press acts on every reader of the page. */
  const onEach = (act) => (readers) => readers.forEach(act)
  const buttons = {
    '/cut': onEach((client) => clients.cut(client)),
    '/hold': onEach((client) => clients.hold(client)),
    '/release': onEach((client) => clients.release(client)),
    '/leave': onEach((client) => clients.turnAway(client)),
    '/return': onEach((client) => clients.letBack(client)),
    '/repeat': onEach(repeat),
    '/restart': restart,
  }

  function stream(client, req, res) {
    if (clients.isTurnedAway(client, req.headers['last-event-id'], bus)) {
      req.socket.resetAndDestroy()
      return
    }
    clients.connected(client, req.socket, res)
    // Any type may come, so events go out without an `event:` line and reach the page's `onmessage`.
    serveSse(clients.watch(bus, client), req, res, {
      event: false,
      from: 'earliest',
      retryMs: RETRY_MS,
      stallTimeoutMs: STALL_TIMEOUT_MS,
    })
  }

  function stats(page) {
    const { evicted, warned, resyncs, ringEvents } = bus.stats()
    return {
      source: source.describe(),
      bus: {
        epoch: bus.epoch,
        lastEventId: bus.lastEventId,
        earliestAvailableId: bus.earliestAvailableId,
        ringSize: RING_SIZE,
        maxQueued: MAX_QUEUED,
        ringEvents,
        evicted,
        warned,
        resyncs,
        /** Events of this bus and those before it. */
        total: snapshots.total,
      },
      away: clients.away(page),
      subscribers: clients.describe(page),
    }
  }

  async function answer(req, res) {
    if (!isLocal(req)) return plain(res, 403, 'This demo answers to its own address only.')
    const [path, query = ''] = req.url.split('?', 2)
    const asked = new URLSearchParams(query)
    const page = asked.get('client') ?? ''

    if (Object.hasOwn(buttons, path)) {
      if (req.method !== 'POST') return plain(res, 405, 'POST', { Allow: 'POST' })
      const readers = clients.ofPage(page)
      if (readers.length === 0) return plain(res, 404, 'No such page is connected.')
      buttons[path](readers)
      return plain(res, 204)
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') return plain(res, 405, 'GET', { Allow: 'GET, HEAD' })
    if (path === '/events') {
      const reader = asked.get('reader') ?? READERS[0]
      if (!/^[a-z0-9]{1,32}$/.test(page)) return plain(res, 400, 'client: 1 to 32 of a-z and 0-9')
      if (!READERS.includes(reader)) return plain(res, 400, `reader: ${READERS.join(' or ')}`)
      return stream(clients.of(page, reader), req, res)
    }
    if (path === '/snapshot') return json(res, await snapshots.take(() => bus))
    if (path === '/stats') return json(res, JSON.stringify(stats(page)))
    return serveFile(req, res, path, readPageFile)
  }

  const server = createServer({ highWaterMark: SOCKET_BUFFER }, (req, res) => {
    answer(req, res).catch((error) => {
      if (res.headersSent) res.destroy()
      else plain(res, 500, String(error))
    })
  })

  return {
    url: await listen(server, port, DEFAULT_PORT),
    source: source.describe(),
    close() {
      source.stop()
      bus.close()
      return closeServer(server)
    },
  }
}

/** `PORT` and `LINES_PER_SECOND` are read from the environment. Ends at SIGINT and SIGTERM. */
export async function main() {
  const demo = await (async () =>
    startDemo({
      port: fromEnvironment('PORT', 0, 65_535),
      linesPerSecond: fromEnvironment('LINES_PER_SECOND', 1, 1000),
    }))().catch(giveUp)
  const what = demo.source.kind === 'input' ? 'lines of standard input' : "this machine's figures"
  process.stdout.write(`  ${demo.url}\n  events: ${what}. Ctrl-C ends it.\n\n`)
  endAtSignals(demo.close, 3000)
}
