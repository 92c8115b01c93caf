/** The bridge over HTTP, the page that speaks to it, and a door for the page's cut. Loopback only. */
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createAcpBridge } from 'resumable-bus/acp'
import { toNodeHandler } from 'resumable-bus/node'
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
import { createAgents } from './agents.mjs'
import { Pages } from './pages.mjs'

const DEFAULT_PORT = 4200
/** How long a page that was closed without a word keeps its agent. */
const GRACE_MS = 30_000
/** A page asks why its agent is gone as soon as it is; the agent's last words take a moment longer. */
const FAULT_WITHIN_MS = 1000
/** More than an agent gets to end in. */
const END_WITHIN_MS = 10_000

const readPageFile = pageFiles(new URL('./public/', import.meta.url), 'acp')

/**
 * Serves until `close()`.
 *
 * @param {{ commandLine: readonly string[], shown: string, port: number | undefined, cutMs: number | undefined }} options
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
async function startBridge({ commandLine, shown, port, cutMs }) {
  const agents = createAgents(commandLine)
  const pages = new Pages(cutMs)
  const nameOf = (headers) => headers.get('demo-page')

  const bridge = createAcpBridge({
    sessionGraceMs: GRACE_MS,
    connectionGraceMs: GRACE_MS,
    async connectAgent({ request, signal }) {
      const page = pages.of(nameOf(request.headers))
      pages.begin(page)
      const { end } = page
      const streams = await agents.start(signal, (fault) => {
        if (fault !== undefined) process.stderr.write(`  ${fault}\n`)
        end(fault)
      })
      return pages.watch(page, streams)
    },
  })
  const answerAcp = toNodeHandler(bridge.handleRequest)

  async function answer(req, res) {
    if (!isLocal(req)) return plain(res, 403, 'This example answers to its own address only.')
    const [path] = req.url.split('?', 1)
    if (!['/acp', '/cut', '/books', '/fault'].includes(path)) return serveFile(req, res, path, readPageFile)

    const name = req.headers['demo-page'] ?? ''
    if (!/^[a-z0-9]{1,32}$/.test(name)) return plain(res, 400, 'Demo-Page: 1 to 32 of a-z and 0-9')
    const page = pages.of(name)
    if (path === '/acp') {
      if (pages.connects(page, req.socket)) return answerAcp(req, res)
      req.socket.resetAndDestroy()
    } else if (path === '/cut') {
      if (req.method !== 'POST') return plain(res, 405, 'POST', { Allow: 'POST' })
      json(res, JSON.stringify({ awayMs: pages.cut(page, req.socket) }))
    } else if (path === '/books') {
      json(res, JSON.stringify({ agent: shown, cwd: process.cwd(), said: page.said, text: page.text }))
    } else {
      const fault = await Promise.race([page.over, delay(FAULT_WITHIN_MS, undefined, { ref: false })])
      json(res, JSON.stringify({ fault }))
    }
  }

  const server = createServer((req, res) => {
    answer(req, res).catch((error) => {
      if (res.headersSent) res.destroy()
      else plain(res, 500, String(error))
    })
  })

  return {
    url: await listen(server, port, DEFAULT_PORT),
    async close() {
      await Promise.all([bridge.close(), closeServer(server), agents.allEnded()])
    },
  }
}

/** `PORT` and `CUT_MS` are read from the environment. Ends at SIGINT and SIGTERM. */
export async function main(commandLine, shown) {
  const bridge = await (async () =>
    startBridge({
      commandLine,
      shown,
      port: fromEnvironment('PORT', 0, 65_535),
      cutMs: fromEnvironment('CUT_MS', 0, 60_000),
    }))().catch(giveUp)
  process.stdout.write(`  ${bridge.url}\n  agent: ${shown}. Ctrl-C ends it.\n\n`)
  endAtSignals(bridge.close, END_WITHIN_MS)
}
