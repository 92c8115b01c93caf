/** What the examples' servers have in common. Loopback only. */

const HOST = '127.0.0.1'
/** So many ports from its own on are tried where nobody asked for a certain one. */
const PORTS = 100

const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** What goes on here is nobody else's business: neither a page of another origin nor a rebound name gets at it. */
export function isLocal(req) {
  const names = ['127.0.0.1', 'localhost', '[::1]']
  const host = req.headers.host ?? ''
  if (!names.includes(host.replace(/:\d+$/, ''))) return false
  return req.headers.origin === undefined || req.headers.origin === `http://${host}`
}

export function plain(res, status, body = '', headers = {}) {
  res.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...PAGE_HEADERS, ...headers })
  res.end(body)
}

export const json = (res, text) => plain(res, 200, text, { 'Content-Type': 'application/json' })

/** Answers a request for a file of the page. */
export async function serveFile(req, res, path, readFile) {
  if (req.method !== 'GET' && req.method !== 'HEAD') return plain(res, 405, 'GET', { Allow: 'GET, HEAD' })
  const file = await readFile(path)
  if (file === undefined) return plain(res, 404, 'Not here.')
  return plain(res, 200, file.body, { 'Content-Type': file.type })
}

/**
 * Listens on `port`, or else on `fallback` or the next free one.
 *
 * @returns {Promise<string>} The address.
 */
export async function listen(server, port, fallback) {
  const last = port ?? fallback + PORTS
  for (let candidate = port ?? fallback; ; candidate += 1) {
    try {
      await new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(candidate, HOST, () => {
          server.removeListener('error', reject)
          resolve()
        })
      })
      return `http://${HOST}:${server.address().port}`
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || candidate >= last) throw error
    }
  }
}

/** Resolves once every connection is gone. */
export async function closeServer(server) {
  // Connections that fall idle after this call would otherwise be waited for.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  await new Promise((resolve) => server.close(resolve))
  clearInterval(sweep)
}

/** A whole number from the environment, in a range; undefined where the variable is not set. */
export function fromEnvironment(name, min, max) {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
  }
  return value
}

/** Prints in one line why nothing is served, and ends. */
export function giveUp(error) {
  process.stderr.write(`  ${error.message}\n`)
  process.exit(1)
}

/** How often it is looked whether npm is still there. */
const PARENT_EVERY_MS = 250

/**
 * Closes at SIGINT and SIGTERM; the process then ends by itself. After `boundMs`, or at a second SIGINT, it ends all the
 * same: nothing that hangs on must keep a terminal waiting. The end of the npm that started it is a signal, too: npm passes
 * a SIGTERM on to its shell at the most.
 */
export function endAtSignals(close, boundMs) {
  let isEnding = false
  const end = () => {
    if (isEnding) return
    isEnding = true
    process.once('SIGINT', () => process.exit(130))
    setTimeout(() => process.exit(1), boundMs).unref()
    close()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)
  if (process.env.npm_lifecycle_event === undefined) return
  const { ppid } = process
  setInterval(() => {
    if (process.ppid !== ppid) end()
  }, PARENT_EVERY_MS).unref()
}
