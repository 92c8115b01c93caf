/** One SSE stream as the transport of a session: messages in, each with the id that the session gives it. */

import { check } from '../internal/check.ts'
import { createPump, type EndReason, type Pump, type Source } from '../internal/pump.ts'
import { closedError, type TransportStream } from '../internal/transport.ts'
import { cursorBlock, idLine } from '../sse/block.ts'
import type { Bytes } from './encoder.ts'
import { checkOptions, HEARTBEAT, type TimeOptions } from './options.ts'

export type { TransportStream } from '../internal/transport.ts'
// For transports with a framing of their own: what moves a cursor is the same in each.
export { cursorBlock }

export interface SseTransportOptions extends TimeOptions {
  /** Written into each id, `<epoch>:<id>`; default the bare id. */
  epoch?: string | undefined
}

interface Outgoing {
  text: string
  readonly taken?: () => void
  readonly refused?: (error: unknown) => void
}

export interface OpenTransport {
  readonly transport: TransportStream
  readonly stream: Pump
  readonly headers: Headers
  /** Sends whole blocks of text, made as they are sent, as `send` does a message. */
  readonly write: (textOf: () => string) => Promise<void>
  /** What waits for room, in order. Text that is added to one of them leaves with it. */
  readonly queue: readonly Outgoing[]
}

/** Throws `TypeError` or `RangeError` naming the option. The stream begins when it is given a sink. */
export function openTransport(options: SseTransportOptions, { encode }: Bytes): OpenTransport {
  const { heartbeatMs, stallTimeoutMs, retry, headers } = checkOptions(options)
  const { epoch } = options
  const queue: Outgoing[] = []
  /** With the sink, and may wait for room there. */
  let sending: Outgoing | undefined
  /** How the stream ends, once it takes nothing more. */
  let ending: EndReason | undefined
  let settled!: () => void
  const closed = new Promise<void>((resolve) => {
    settled = resolve
  })

  const write = (textOf: () => string): Promise<void> => {
    const sent = new Promise<void>((taken, refused) => {
      const text = textOf()
      // A message's `toJSON` ran just now, and may have closed this.
      if (ending) throw closedError()
      queue.push({ text, taken, refused })
    })
    // Whoever does not wait for a send need not be told that it failed.
    sent.catch(() => {})
    pump.wake()
    return sent
  }

  const source: Source = {
    opening: () => encode(retry),
    take() {
      sending = queue.shift()
      return sending ? encode(sending.text) : ending
    },
    taken() {
      sending?.taken?.()
      sending = undefined
    },
    beat: () => encode(HEARTBEAT),
    close() {
      ending ??= 'ended'
      for (const one of [sending, ...queue.splice(0)]) one?.refused?.(closedError())
    },
    settled,
  }

  const pump = createPump(source, heartbeatMs || Infinity, stallTimeoutMs)
  const transport: TransportStream = {
    send(message, id) {
      return write(() => {
        const head = id === undefined ? '' : idLine(checkId(id), epoch)
        return `${head}data: ${JSON.stringify(message) ?? 'null'}\n\n`
      })
    },
    cursor: (id) => write(() => cursorBlock(checkId(id), epoch)),
    close(reason) {
      if (ending) return
      // As a stream of the bus itself: a sink may have more to end than this one stream.
      ending = reason === 'bus_closed' ? 'closed' : 'ended'
      if (reason !== undefined) {
        const frame = { v: 1, type: 'stream_error', data: { error: reason, code: reason } }
        queue.push({ text: `event: stream_error\ndata: ${JSON.stringify(frame)}\n\n` })
      }
      pump.wake()
    },
    get isClosed() {
      return !!ending
    },
    closed,
  }
  return { transport, stream: pump, headers, write, queue }
}

const checkId = (id: number) => check('id', id, 'number', 0, Number.MAX_SAFE_INTEGER)
