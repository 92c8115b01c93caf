import type { BusLike } from '../index.ts'
import { check, option } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import type { SessionOptions } from './options.ts'
import { ReplyPool } from './replies.ts'
import { adopt, ResumableSession, type SessionOwner } from './session.ts'

export interface SessionRegistryOptions {
  /** Sessions at a time, default none. */
  maxSessions?: number | undefined
  /** UTF-8 bytes of the replies that all sessions keep together, default 64 MiB; `Infinity` = no bound. */
  maxReplyBytes?: number | undefined
}

/**
 * Sessions by their id, and the bytes that their replies may take together: where one does not fit, replies that a
 * transport took before are dropped, those of its own session first; where none is left, that session is closed.
 */
export class SessionRegistry {
  readonly #sessions = new Map<string, ResumableSession>()
  readonly #maxSessions: number
  readonly #owner: SessionOwner

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: SessionRegistryOptions = {}) {
    this.#maxSessions = option(options, 'maxSessions', 'number', Infinity)
    this.#owner = {
      pool: new ReplyPool(option(options, 'maxReplyBytes', 'number', 67_108_864)),
      ended: ({ id }) => this.#sessions.delete(id),
    }
  }

  get size(): number {
    return this.#sessions.size
  }

  /**
   * A session that is here until it ends, however it ends. Throws `code: 'session_exists'` for an id that is taken,
   * `code: 'session_limit_exceeded'` at `maxSessions`, and what `new ResumableSession` throws; then nothing has changed.
   */
  create<Bus extends BusLike>(options: SessionOptions<Bus>): ResumableSession {
    if (this.#sessions.has(check('options', options, 'object').id)) {
      throw refusal('session_exists', 'a session of this id exists')
    }
    if (this.size >= this.#maxSessions) {
      throw refusal('session_limit_exceeded', `maxSessions reached: ${this.#maxSessions}`)
    }
    const session = new ResumableSession(options)
    if (session.state === 'closed') return session
    adopt(session, this.#owner)
    this.#sessions.set(session.id, session)
    return session
  }

  get(id: string): ResumableSession | undefined {
    return this.#sessions.get(id)
  }

  /** False where there is no such session. */
  close(id: string, reason?: string): boolean {
    const session = this.get(id)
    session?.close(reason)
    return session !== undefined
  }

  closeAll(reason?: string): void {
    for (const session of [...this.#sessions.values()]) session.close(reason)
  }

  /** `closeAll()`. */
  [dispose](): void {
    this.closeAll()
  }
}

function refusal(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
