/** One stream of ACP as its messages, over as many connections as it takes. */

import { createMoves } from '../client/moves.ts'
import { createStream, type Ending, isLast, type SseStream } from '../client/stream.ts'
import type { ClientSettings } from './client-options.ts'
import { isMessage, type Message, OWN_METHODS, ownNotification } from './messages.ts'
import { BRIDGE_CLOSED, EVENT_STREAM } from './wire.ts'

/**
 * From its first message on: the first request says so with the cursor before all ids, so that a cut in front of the first
 * id loses nothing either.
 */
export function openEvents(
  url: string,
  headers: Record<string, string>,
  settings: ClientSettings,
  signal: AbortSignal,
): SseStream<Message> {
  const options = {
    ...settings,
    headers: [...settings.headers, ...Object.entries({ ...headers, Accept: EVENT_STREAM })],
    lastEventId: 0,
    signal,
  }
  return createStream<Message>(url, options, (outlet) => {
    const moves = createMoves(outlet, (data) => outlet.put(ownNotification('state_resync_required', data)))
    return (id, event = 'message', data) => {
      if (id !== undefined && !moves.to(id, !!data)) return
      if (!data) return
      let message: unknown
      try {
        message = JSON.parse(data)
        if (!isMessage(message)) throw new TypeError('no JSON-RPC message')
      } catch (error) {
        return outlet.reject(error as Error, { event, data, cursor: outlet.cursor })
      }
      const control = id === undefined ? controlOf(message) : undefined
      if (control === 'state_resync_required') moves.resync(message.params as object | null)
      outlet.put(message)
      if (control && isLast(control)) outlet.last(control, endingOf(message))
    }
  })
}

/** A bridge that was closed has no connection to come back to, though another may listen there. */
function endingOf({ params }: Message): Ending {
  const ending = (params ?? {}) as Ending
  return ending.code === BRIDGE_CLOSED ? { ...ending, code: 'gone' } : ending
}

/** The type of the control frame that a notification is. */
function controlOf({ method }: Message): string | undefined {
  return typeof method === 'string' && method.startsWith(OWN_METHODS)
    ? method.slice(OWN_METHODS.length)
    : undefined
}
