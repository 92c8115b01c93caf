/** One GET of ACP as the transport of a session: JSON-RPC messages only, and what is none of them as a comment. */

import type { BusEvent, Frame } from '../index.ts'
import { cursorText } from '../internal/cursor.ts'
import { payloadJson } from '../internal/kept.ts'
import { bodyOf, webBytes } from '../web/body.ts'
import { cursorBlock, openTransport, type TransportStream } from '../web/transport.ts'
import { type Message, ownNotification } from './messages.ts'

/** What the end of a replay is sent as. */
const REPLAY_COMPLETE = 'replay_complete'

/** A control frame as what `send` of the transport takes. An event is sent as it is: its `data` is the message. */
export function outgoing({ type, data }: Frame, named: object): unknown {
  return type === REPLAY_COMPLETE ? type : ownNotification(type, { ...named, ...(data as object) })
}

/**
 * So many characters are taken without a promise, and leave as one: a promise for each message costs a tenth of it. Where
 * more wait, `send` waits, too, and the bus's queue fills.
 */
const BATCH = 16_384

export interface AcpTransport {
  readonly transport: TransportStream
  readonly response: Response
}

/** Without `retry:`: ACP's own clients know none, and ours has a better one than all streams together. */
export function openAcpTransport(request: Request, epoch: string, heartbeatMs: number): AcpTransport {
  const { transport, stream, headers, write, queue } = openTransport(
    { epoch, heartbeatMs, retryMs: 0 },
    webBytes,
  )

  // With an id it is an event, whose JSON was made as it was published.
  const textOf = (message: unknown, id: number | undefined) => {
    if (id !== undefined) return `id: ${cursorText(id, epoch)}\ndata: ${payloadJson(message as BusEvent)}\n\n`
    return message === REPLAY_COMPLETE ? `: ${REPLAY_COMPLETE}\n\n` : `data: ${JSON.stringify(message)}\n\n`
  }

  const put = (text: string): void | Promise<void> => {
    const [next, another] = queue
    if (transport.isClosed || another) return write(() => text)
    if (next && next.text.length + text.length <= BATCH) next.text += text
    else void write(() => text)
  }

  return {
    transport: {
      send: (message, id) => put(textOf(message, id)),
      cursor: (id) => put(cursorBlock(id, epoch)),
      close(reason) {
        if (reason !== undefined) void put(textOf(farewell(reason), undefined))
        transport.close()
      },
      get isClosed() {
        return transport.isClosed
      },
      closed: transport.closed,
    },
    response: new Response(bodyOf(stream, request), { headers }),
  }
}

/** The last message of a stream that will not go on, or not here. */
export function farewell(code: string): Message {
  return ownNotification('stream_error', { error: code, code })
}
