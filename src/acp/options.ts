/** The options of a bridge: checked at the door, every default filled in. */

import { check, option } from '../internal/check.ts'
import type { AcpDiagnostic } from './diagnostics.ts'
import type { MessageStream } from './messages.ts'

/** For whom an agent is connected. */
export interface AgentContext {
  readonly connectionId: string
  /** The POST of `initialize`. */
  readonly request: Request
  /** Who that is, where `authorize` says so. */
  readonly owner: string | undefined
  /** Aborts as the connection ends, for whatever reason: the time to end a child process. */
  readonly signal: AbortSignal
}

/** Every bound is per connection, unless it says otherwise. `Infinity` = none. */
export interface AcpLimits {
  /** Connections of the bridge, default 4096. One more `initialize` is answered 503. */
  maxConnections?: number | undefined
  /** Session streams, default 1024. One more GET or POST is answered 409. */
  maxSessions?: number | undefined
  /**
   * Client requests that the agent has not answered, and client messages that it has not read, default 1024 each. One more
   * POST is answered 429.
   */
  maxPendingRequests?: number | undefined
  /** Bytes of the body of one POST, default 16,777,216. A larger one is answered 413. */
  maxBodyBytes?: number | undefined
  /** Characters of a session id or a request id, default 1024. A longer one is answered 400. */
  maxIdLength?: number | undefined
  /** Bytes of JSON that one stream retains for replay, default 4,194,304. */
  maxRingBytes?: number | undefined
  /** Answers that one stream keeps for a client that has not confirmed them, default 256. */
  maxReplies?: number | undefined
  /** Their bytes, default 4,194,304. */
  maxReplyBytes?: number | undefined
  /** Those bytes in the whole bridge, default 67,108,864. */
  maxTotalReplyBytes?: number | undefined
}

export interface AcpBridgeOptions {
  /**
   * Connects the agent of one new connection: what it says is `readable`, what it is told is `writable`. Closed with the
   * connection. What it throws or rejects with fails that `initialize` alone.
   */
  connectAgent: (context: AgentContext) => MessageStream | Promise<MessageStream>
  /**
   * Sees each request before anything else. `true` lets it in; a string, too, and names who it is: a connection then
   * serves the owner who opened it, and is unknown to all others. A `Response` is sent as it is; all else, throwing and the
   * empty string among it, is 401. Must not read the body. Default: everybody is let in, and an id that nobody can guess is all that
   * protects a connection.
   */
  authorize?:
    | ((request: Request) => boolean | string | Response | Promise<boolean | string | Response>)
    | undefined
  /**
   * How long a session waits for its client to come, or to come back, default 60,000 ms. Then its turn is cancelled. Where
   * it is 0, the first one has `connectionGraceMs`.
   */
  sessionGraceMs?: number | undefined
  /**
   * How long a connection lives without its own stream, from the answer to `initialize` on, default 60,000 ms. One with a
   * session that has a stream, or may still get it back, lives on.
   */
  connectionGraceMs?: number | undefined
  /** Messages that each stream retains for replay, default 8000. */
  ringSize?: number | undefined
  limits?: AcpLimits | undefined
  /** An idle stream gets a comment every so many milliseconds, default 8000; 0 = none. */
  heartbeatMs?: number | undefined
  /**
   * How long the user may take to answer `session/request_permission`, detached or not; then the agent is told that it was
   * cancelled. Default `Infinity`: as long as the session lives.
   */
  permissionTimeoutMs?: number | undefined
  /** Told what happened. What it throws is swallowed. */
  onDiagnostic?: ((diagnostic: AcpDiagnostic) => void) | undefined
}

export type BridgeSettings = ReturnType<typeof checkBridgeOptions>

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkBridgeOptions(options: AcpBridgeOptions) {
  const ms = (
    name: 'sessionGraceMs' | 'connectionGraceMs' | 'heartbeatMs' | 'permissionTimeoutMs',
    fallback: number,
  ) => option(options, name, 'number', fallback, 0)
  const connectAgent = check('connectAgent', check('options', options, 'object').connectAgent, 'function')
  const limits: AcpLimits = option(options, 'limits', 'object') ?? {}
  const limit = (name: keyof AcpLimits, fallback: number) => option(limits, name, 'number', fallback)
  return {
    connectAgent,
    authorize: option(options, 'authorize', 'function'),
    sessionGraceMs: ms('sessionGraceMs', 60_000),
    connectionGraceMs: ms('connectionGraceMs', 60_000),
    ringSize: option(options, 'ringSize', 'number', 8000, 0),
    heartbeatMs: ms('heartbeatMs', 8000),
    // 0 = off.
    permissionTimeoutMs: ms('permissionTimeoutMs', Infinity) || Infinity,
    onDiagnostic: option(options, 'onDiagnostic', 'function'),
    limits: {
      maxConnections: limit('maxConnections', 4096),
      maxSessions: limit('maxSessions', 1024),
      maxPendingRequests: limit('maxPendingRequests', 1024),
      maxBodyBytes: limit('maxBodyBytes', 16_777_216),
      maxIdLength: limit('maxIdLength', 1024),
      maxRingBytes: limit('maxRingBytes', 4_194_304),
      maxReplies: limit('maxReplies', 256),
      maxReplyBytes: limit('maxReplyBytes', 4_194_304),
      maxTotalReplyBytes: limit('maxTotalReplyBytes', 67_108_864),
    },
  } as const
}
