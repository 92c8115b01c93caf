/** The demo's server: one bus, one page, and a door for each of the page's buttons. Loopback only. */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname } from 'node:path'
import { EventBus } from 'resumable-bus'
import { serveSse } from 'resumable-bus/node'
import { Clients } from './clients.mjs'
import { openSource } from './source.mjs'

const HOST = '127.0.0.1'
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

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}
const PAGE = new URL('./public/', import.meta.url)
const PAGE_FILES = new Set(readdirSync(PAGE))
const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

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
  const source = openSource((event) => bus.publish(event), { linesPerSecond })

  const buttons = {
    '/cut': (client) => clients.cut(client),
    '/hold': (client) => clients.hold(client),
    '/release': (client) => clients.release(client),
    '/leave': (client) => clients.turnAway(client),
    '/return': (client) => clients.letBack(client),
    '/restart': () => {
      const old = bus
      bus = openBus()
      old.close({ drain: false })
    },
  }

  function stream(client, req, res) {
    if (clients.isTurnedAway(client, req.headers['last-event-id'], bus)) {
      req.socket.resetAndDestroy()
      return
    }
    clients.connected(client, req.socket)
    // Any type may come, so events go out without an `event:` line and reach the page's `onmessage`.
    serveSse(clients.watch(bus, client), req, res, {
      event: false,
      from: 'earliest',
      retryMs: RETRY_MS,
      stallTimeoutMs: STALL_TIMEOUT_MS,
    })
  }

  function stats(name) {
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
      },
      away: clients.get(name)?.away ?? false,
      subscribers: clients.describe(name),
    }
  }

  async function answer(req, res) {
    if (!isLocal(req)) return plain(res, 403, 'This demo answers to its own address only.')
    const [path, query = ''] = req.url.split('?', 2)
    const name = new URLSearchParams(query).get('client') ?? ''

    if (Object.hasOwn(buttons, path)) {
      if (req.method !== 'POST') return plain(res, 405, 'POST', { Allow: 'POST' })
      const client = clients.get(name)
      if (client === undefined) return plain(res, 404, 'No such page is connected.')
      buttons[path](client)
      return plain(res, 204)
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') return plain(res, 405, 'GET', { Allow: 'GET, HEAD' })
    if (path === '/events') {
      if (!/^[a-z0-9]{1,32}$/.test(name)) return plain(res, 400, 'client: 1 to 32 of a-z and 0-9')
      return stream(clients.of(name), req, res)
    }
    if (path === '/stats') {
      return plain(res, 200, JSON.stringify(stats(name)), { 'Content-Type': 'application/json' })
    }
    return pageFile(res, path === '/' ? 'index.html' : path.slice(1))
  }

  const server = createServer({ highWaterMark: SOCKET_BUFFER }, (req, res) => {
    answer(req, res).catch((error) => {
      if (res.headersSent) res.destroy()
      else plain(res, 500, String(error))
    })
  })
  await listen(server, port)

  return {
    url: `http://${HOST}:${server.address().port}`,
    source: source.describe(),
    async close() {
      source.stop()
      bus.close()
      // Connections that fall idle after this call would otherwise be waited for.
      const sweep = setInterval(() => server.closeIdleConnections(), 50)
      await new Promise((resolve) => server.close(resolve))
      clearInterval(sweep)
    },
  }
}

/** Lines of a log are nobody else's business: neither a page of another origin nor a rebound name gets at them. */
function isLocal(req) {
  const names = ['127.0.0.1', 'localhost', '[::1]']
  const host = req.headers.host ?? ''
  if (!names.includes(host.replace(/:\d+$/, ''))) return false
  return req.headers.origin === undefined || req.headers.origin === `http://${host}`
}

function plain(res, status, body = '', headers = {}) {
  res.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...PAGE_HEADERS, ...headers })
  res.end(body)
}

async function pageFile(res, name) {
  if (!PAGE_FILES.has(name)) return plain(res, 404, 'Not here.')
  const body = await readFile(new URL(name, PAGE))
  return plain(res, 200, body, { 'Content-Type': TYPES[extname(name)] })
}

async function listen(server, port) {
  const last = port === undefined ? DEFAULT_PORT + 100 : port
  for (let candidate = port ?? DEFAULT_PORT; ; candidate += 1) {
    try {
      await new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(candidate, HOST, () => {
          server.removeListener('error', reject)
          resolve()
        })
      })
      return
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || candidate >= last) throw error
    }
  }
}

/** A whole number from the environment, in a range; undefined where the variable is not set. */
function fromEnvironment(name, min, max) {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
  }
  return value
}

/** `PORT` and `LINES_PER_SECOND` are read from the environment. Ends at SIGINT and SIGTERM. */
export async function main() {
  let demo
  try {
    demo = await startDemo({
      port: fromEnvironment('PORT', 0, 65_535),
      linesPerSecond: fromEnvironment('LINES_PER_SECOND', 1, 1000),
    })
  } catch (error) {
    process.stderr.write(`  ${error.message}\n`)
    process.exit(1)
  }
  const what = demo.source.kind === 'input' ? 'lines of standard input' : "this machine's figures"
  process.stdout.write(`  ${demo.url}\n  events: ${what}. Ctrl-C ends it.\n\n`)

  const end = () => {
    // A second signal, or anything that hangs on, must not keep a terminal waiting.
    process.once('SIGINT', () => process.exit(130))
    setTimeout(() => process.exit(1), 3000).unref()
    demo.close()
  }
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
}
