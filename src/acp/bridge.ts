/** The HTTP surface of ACP: which request is answered how. What happens behind it is the connection's. */

import { SessionRegistry } from '../session/index.ts'
import { readJson } from './body.ts'
import { type Connection, createConnection, unknownConnection } from './connection.ts'
import type { AcpDiagnostic } from './diagnostics.ts'
import { batchRefusal, errorResponse, isMessage, keyOf, type Message } from './messages.ts'
import { type AcpBridgeOptions, checkBridgeOptions } from './options.ts'
import { randomId } from './random-id.ts'
import { BRIDGE_CLOSED, CONNECTION_HEADER, EVENT_STREAM, JSON_TYPE, respond, SESSION_HEADER } from './wire.ts'

export interface AcpBridgeStats {
  readonly connections: number
  /** Session streams, with a client or in their grace. */
  readonly sessions: number
  /** Streams that have a client, those of connections included. */
  readonly streams: number
  /** Requests of clients and of agents that wait for their answer. */
  readonly pending: number
}

export interface AcpBridge {
  /** Answers one request of ACP over HTTP. Never rejects. */
  handleRequest(request: Request): Promise<Response>
  /** Ends every connection: streams end cleanly, agents are closed. Resolves once they were told. */
  close(): Promise<void>
  stats(): AcpBridgeStats
}

/**
 * ACP agents over Streamable HTTP (the wire of `@agentclientprotocol/sdk` 2.4), with streams that survive a cut.
 *
 * Notifications and agent requests have ids, and a GET with `Last-Event-ID` gets what it missed, each once and in order,
 * or one `_resumable_bus/state_resync_required` where that has left the ring. Answers have no id and come behind every
 * message that was sent before them; one that a client has not confirmed comes again. A GET without `Last-Event-ID` goes
 * on behind what the last one was sent. A turn goes on while nobody is there; it is cancelled when the grace runs out.
 *
 * Throws `TypeError` or `RangeError` naming a bad option.
 */
export function createAcpBridge(options: AcpBridgeOptions): AcpBridge {
  const settings = checkBridgeOptions(options)
  const { connectAgent, authorize, onDiagnostic, limits } = settings
  const registry = new SessionRegistry({ maxReplyBytes: limits.maxTotalReplyBytes })
  const connections = new Map<string, Connection>()
  /** Give up the connections whose agent is being made. */
  const opening = new Set<() => void>()
  let isClosed = false

  const report = (diagnostic: AcpDiagnostic) => {
    try {
      onDiagnostic?.(diagnostic)
    } catch {
      // Its own affair.
    }
  }

  /** Who sends a request; a response where it is not let in. */
  const ownerOf = async (request: Request): Promise<{ owner: string | undefined } | Response> => {
    if (!authorize) return { owner: undefined }
    try {
      const verdict = await authorize(request)
      if (verdict === true) return { owner: undefined }
      if (verdict && typeof verdict === 'string') return { owner: verdict }
      // By shape: a framework's own Response may be of another realm.
      if (typeof verdict === 'object' && typeof verdict?.headers?.get === 'function') return verdict
    } catch (error) {
      report({ type: 'callback_error', error })
    }
    return respond(401, 'Unauthorized')
  }

  /** The connection that a request names, if it is the sender's. */
  const connectionOf = (request: Request, owner: string | undefined): Connection | Response => {
    const id = request.headers.get(CONNECTION_HEADER)
    if (!id) return respond(400, `Missing ${CONNECTION_HEADER}`)
    const connection = connections.get(id)
    return connection && connection.owner === owner ? connection : unknownConnection()
  }

  const post = async (request: Request, owner: string | undefined): Promise<Response> => {
    const type = request.headers.get('content-type')?.split(';', 1)[0]
    if (type?.trim().toLowerCase() !== JSON_TYPE) return respond(415, `Content-Type is not ${JSON_TYPE}`)
    const body = await readJson(request, limits.maxBodyBytes)
    if (body instanceof Response) return body
    const { value } = body
    if (Array.isArray(value)) return json(400, batchRefusal())
    if (!isMessage(value)) return respond(400, 'No JSON-RPC message')
    if (value.jsonrpc === '2.0' && value.method === 'initialize' && 'id' in value) {
      if (request.headers.get(CONNECTION_HEADER)) {
        return respond(400, 'Already initialized')
      }
      return initialize(request, value, owner)
    }
    const connection = connectionOf(request, owner)
    if (connection instanceof Response) return connection
    const refused = await connection.post(value, request.headers.get(SESSION_HEADER) || undefined)
    return refused ?? new Response(null, { status: 202 })
  }

  const initialize = async (request: Request, message: Message, owner: string | undefined) => {
    if (message.id === null || keyOf(message.id) === '') {
      return respond(400, 'initialize needs an id')
    }
    const { signal } = request
    // Nobody reads what a client that has left is answered.
    if (isClosed || signal.aborted || connections.size + opening.size >= limits.maxConnections) {
      return respond(503, 'Too many connections', { 'retry-after': '15' })
    }
    const connectionId = randomId()
    const controller = new AbortController()
    let connection: Connection | undefined
    const abandon = () => {
      controller.abort()
      connection?.end('not_initialized')
    }
    // However long the agent takes, and whatever it makes of its signal.
    const abandoned = new Promise<never>((_, reject) => controller.signal.addEventListener('abort', reject))
    const connect = async () => {
      const agent = await connectAgent({ connectionId, request, owner, signal: controller.signal })
      opening.delete(abandon)
      connection = createConnection(connectionId, owner, agent, {
        settings,
        registry,
        report,
        onEnd() {
          connections.delete(connectionId)
          controller.abort()
        },
      })
      connections.set(connectionId, connection)
      if (isClosed || controller.signal.aborted) abandon()
      return connection.initialize(message)
    }
    signal.addEventListener('abort', abandon)
    opening.add(abandon)
    try {
      const answer = await Promise.race([connect(), abandoned])
      return json(200, answer, { [CONNECTION_HEADER]: connectionId })
    } catch (error) {
      if (!connection && !controller.signal.aborted) report({ type: 'callback_error', error })
      abandon()
      return json(500, errorResponse(message.id, 'Initialize failed'))
    } finally {
      opening.delete(abandon)
      signal.removeEventListener('abort', abandon)
    }
  }

  const get = (request: Request, owner: string | undefined): Response => {
    const { headers } = request
    if (headers.get('upgrade')?.toLowerCase() === 'websocket') {
      return respond(426, 'WebSocket is not supported')
    }
    if (!headers.get('accept')?.toLowerCase().includes(EVENT_STREAM))
      return respond(406, `Accept has no ${EVENT_STREAM}`)
    const connection = connectionOf(request, owner)
    if (connection instanceof Response) return connection
    return connection.open(request, headers.get(SESSION_HEADER) || undefined)
  }

  const remove = (request: Request, owner: string | undefined): Response => {
    const connection = connectionOf(request, owner)
    if (connection instanceof Response) return connection
    connection.end('deleted')
    return new Response(null, { status: 202 })
  }

  return {
    async handleRequest(request) {
      const found = await ownerOf(request)
      if (!('owner' in found)) return found
      const { owner } = found
      const { method } = request
      if (method === 'POST') return post(request, owner)
      if (method === 'GET') return get(request, owner)
      if (method === 'DELETE') return remove(request, owner)
      return respond(405, 'Method Not Allowed', { allow: 'GET, POST, DELETE' })
    },
    async close() {
      isClosed = true
      for (const abandon of opening) abandon()
      for (const connection of [...connections.values()]) connection.end(BRIDGE_CLOSED)
    },
    stats() {
      const total = { connections: connections.size, sessions: 0, streams: 0, pending: 0 }
      for (const { stats } of connections.values()) {
        total.sessions += stats.sessions
        total.streams += stats.streams
        total.pending += stats.pending
      }
      return total
    },
  }
}

function json(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  return respond(status, JSON.stringify(value), { 'content-type': JSON_TYPE, ...headers })
}
