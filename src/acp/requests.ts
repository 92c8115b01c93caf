/** The requests of one client: where each answer goes, and which were accepted before. */

import { keyOf, type Message } from './messages.ts'
import { remember } from './recent.ts'

/** Where a request came from; `undefined` is the connection's own stream. */
export type Route = string | undefined

interface Pending {
  readonly id: unknown
  readonly method: unknown
  /** The session that the request is about. */
  readonly session: Route
  /** Where its answer goes. */
  readonly route: Route
}

export interface Requests {
  /** Waiting for the agent's answer. */
  readonly size: number
  /** One of that id waits, or is among the last that were accepted. */
  isKnown(id: unknown): boolean
  accept(message: Message, session: Route): void
  /** What an answer belongs to, which then waits no longer. */
  settle(id: unknown): Pending | undefined
  /** A turn of that session is running. */
  isPrompting(session: string): boolean
  /** All that still wait, which then wait no longer. */
  drain(): Pending[]
}

/** Where the wire has the answer on the connection's stream although the request names a session. */
const ANSWERED_ON_CONNECTION = 'session/load'

export function createRequests(): Requests {
  /** The last, also of those that were answered: a client repeats a POST whose answer it did not get while few others follow. */
  const accepted = new Set<string>()
  const pending = new Map<string, Pending>()
  return {
    get size() {
      return pending.size
    },
    isKnown(id) {
      const key = keyOf(id)
      // One that still waits is never forgotten, or it would run beside itself.
      return accepted.has(key) || pending.has(key)
    },
    accept({ id, method }, session) {
      const key = keyOf(id)
      remember(accepted, key)
      const route = method === ANSWERED_ON_CONNECTION ? undefined : session
      pending.set(key, { id, method, session, route })
    },
    settle(id) {
      const key = keyOf(id)
      const found = pending.get(key)
      pending.delete(key)
      return found
    },
    isPrompting(session) {
      for (const one of pending.values()) {
        if (one.session === session && one.method === 'session/prompt') return true
      }
      return false
    },
    drain() {
      const all = [...pending.values()]
      pending.clear()
      return all
    },
  }
}
