/** The names of ACP's Streamable HTTP that both ends use. */

export const CONNECTION_HEADER = 'Acp-Connection-Id'
export const SESSION_HEADER = 'Acp-Session-Id'
export const EVENT_STREAM = 'text/event-stream'
export const JSON_TYPE = 'application/json'

/** A session that is not there any more, to a client that comes back for the rest of it. */
export const SESSION_EXPIRED = 'session_expired'

/** Why every stream of a bridge ends as it is closed. */
export const BRIDGE_CLOSED = 'bridge_closed'

/** Plain text, as all text is that says nothing else: why a request is not served. */
export function respond(status: number, body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers })
}

/** A session id that a header brings to the other side as it is: Latin-1 that can be seen, and blanks between it. */
export const IN_A_HEADER = /^(?! )[ -~\x80-\xff]*[!-~\x80-\xff]$/

/** Methods whose success ends the session. */
export const ENDS_SESSION = /^session\/(close|delete)$/
