/** What a bridge tells its operator: for logs and metrics. */

/** Why a connection ended. */
export type ConnectionEnd =
  /** The client said so (DELETE). */
  | 'deleted'
  /** Nobody came, or came back, for its own stream within `connectionGraceMs`, and no session was left. */
  | 'expired'
  /** The agent's stream ended or failed. */
  | 'agent_gone'
  /** Its own stream had to close, at a bound of what it may keep. */
  | 'overflow'
  /** The agent did not answer `initialize`, or the client did not wait for it. */
  | 'not_initialized'
  /** The bridge was closed. */
  | 'bridge_closed'

/** `sessionId` is left out where the stream is the connection's own. */
interface OfStream {
  readonly connectionId: string
  readonly sessionId?: string
}

export type AcpDiagnostic =
  | { readonly type: 'connection_opened'; readonly connectionId: string }
  | { readonly type: 'connection_closed'; readonly connectionId: string; readonly reason: ConnectionEnd }
  | ({ readonly type: 'stream_detached' | 'stream_reclaimed' | 'stream_replaced' } & OfStream)
  /** Nobody came back in time: its turn was cancelled. */
  | ({ readonly type: 'session_expired' } & OfStream)
  | ({ readonly type: 'session_closed'; readonly reason?: string } & OfStream)
  /** Clipped and without control characters. */
  | ({ readonly type: 'invalid_last_event_id'; readonly value: string } & OfStream)
  /** The user did not answer in time. */
  | ({ readonly type: 'permission_timeout' } & OfStream)
  /** The agent said what no stream can carry: no JSON, or past the sessions of a connection. */
  | ({ readonly type: 'message_dropped' } & OfStream)
  /** `authorize` or `connectAgent` threw. */
  | { readonly type: 'callback_error'; readonly error: unknown }
