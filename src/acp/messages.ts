/** JSON-RPC 2.0 as ACP speaks it: what a message is, and the few that this side writes itself. */

/** A JSON-RPC message, told by its shape alone. What else is in it passes through untouched. */
export interface Message {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/**
 * The two ends of a peer: messages that it says, and messages that it is told. The streams of `@agentclientprotocol/sdk`
 * are such ones, its `ndJsonStream` over a child process included.
 */
export interface MessageStream {
  // biome-ignore lint/suspicious/noExplicitAny: its users type the messages, each in a way of their own.
  readonly readable: ReadableStream<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly writable: WritableStream<any>
}

/** What the names of this library's own notifications begin with. */
export const OWN_METHODS = '_resumable_bus/'

/** ACP asks for the cancelled outcome where a turn was cancelled before the user chose. */
const CANCELLED_PERMISSION = { outcome: { outcome: 'cancelled' } }
const REQUEST_CANCELLED = -32_800
const INTERNAL_ERROR = -32_603
const INVALID_REQUEST = -32_600

export function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A call that is answered: with a method, and with an id that an answer can name. */
export function isRequest({ jsonrpc, id, method }: Message): boolean {
  return jsonrpc === '2.0' && typeof method === 'string' && keyOf(id) !== ''
}

/** Whatever has an id and no method answers something, well or badly. */
export function isResponse(message: Message): boolean {
  return !('method' in message) && 'id' in message
}

/** `1` and `"1"` are two ids. Empty for what is none. */
export function keyOf(id: unknown): string {
  if (typeof id === 'string') return `s${id}`
  if (typeof id === 'number') return Number.isFinite(id) ? `n${id}` : ''
  return id === null ? 'null' : ''
}

/** The session that a call is about. */
export function sessionOf(message: Message): string | undefined {
  return 'method' in message ? sessionIdIn(message.params) : undefined
}

/** The session that an answer names, as those to `session/new` and `session/fork` do. */
export function sessionInResult(message: Message): string | undefined {
  return isResponse(message) ? sessionIdIn(message.result) : undefined
}

function sessionIdIn(value: unknown): string | undefined {
  const { sessionId } = (value ?? {}) as { sessionId?: unknown }
  return typeof sessionId === 'string' ? sessionId : undefined
}

export function notification(method: string, params: unknown): Message {
  return { jsonrpc: '2.0', method, params }
}

/** A control frame, or another fact of the stream, as the client hears of it. */
export function ownNotification(type: string, params: unknown): Message {
  return notification(OWN_METHODS + type, params)
}

export function errorResponse(id: unknown, message: string, data?: unknown, code = INTERNAL_ERROR): Message {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

/** The one answer to a batch, which ACP does not have. */
export function batchRefusal(): Message {
  return errorResponse(null, 'JSON-RPC batches are not supported', undefined, INVALID_REQUEST)
}

/** What an agent is told where nobody will answer its request any more. */
export function unanswered({ id, method }: Message): Message {
  if (method === 'session/request_permission') return { jsonrpc: '2.0', id, result: CANCELLED_PERMISSION }
  return errorResponse(id, 'Request cancelled', undefined, REQUEST_CANCELLED)
}
