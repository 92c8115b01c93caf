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

/** Settles a send; more than once is once. */
type Settle = [taken: () => void, refused: (error: unknown) => void]

export interface OpenTransport {
  readonly transport: TransportStream
  readonly stream: Pump
  readonly headers: Headers
  /** Sends whole blocks of text, made as they are sent, as `send` does a message. */
  readonly write: (textOf: () => string) => Promise<void>
  /** Adds blocks that nobody waits for, while the transport is open. So many characters wait for room from then on. */
  readonly add: (text: string) => number
}

/** Throws `TypeError` or `RangeError` naming the option. The stream begins when it is given a sink. */
export function openTransport(options: SseTransportOptions, { encode }: Bytes): OpenTransport {
  const { heartbeatMs, stallTimeoutMs, retry, headers } = checkOptions(options)
  const { epoch } = options
  /** Blocks that wait for room, and leave as one chunk; the sends of these, and of those that the sink has. */
  let blocks = ''
  let waiting: Settle[] = []
  let sending: Settle[] = []
  /** How the stream ends, once it takes nothing more. */
  let ending: EndReason | undefined
  let settled!: () => void
  const closed = new Promise<void>((resolve) => {
    settled = resolve
  })

  const add = (text: string): number => {
    blocks += text
    pump.wake()
    return blocks.length
  }

  const write = (textOf: () => string): Promise<void> => {
    const sent = new Promise<void>((...settle) => {
      const text = textOf()
      // A message's `toJSON` ran just now, and may have closed this.
      if (ending) throw closedError()
      waiting.push(settle)
      add(text)
    })
    // Whoever does not wait for a send need not be told that it failed.
    sent.catch(() => {})
    return sent
  }

  const source: Source = {
    opening: () => encode(retry),
    take() {
      const text = blocks
      blocks = ''
      sending = waiting
      waiting = []
      return text ? encode(text) : ending
    },
    taken() {
      for (const [taken] of sending) taken()
    },
    beat: () => encode(HEARTBEAT),
    close() {
      ending ??= 'ended'
      for (const [, refused] of [...sending, ...waiting]) refused(closedError())
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
      if (reason !== undefined) {
        const frame = { v: 1, type: 'stream_error', data: { error: reason, code: reason } }
        add(`event: stream_error\ndata: ${JSON.stringify(frame)}\n\n`)
      }
      // As a stream of the bus itself: a sink may have more to end than this one stream.
      ending = reason === 'bus_closed' ? 'closed' : 'ended'
      pump.wake()
    },
    get isClosed() {
      return !!ending
    },
    closed,
  }
  return { transport, stream: pump, headers, write, add }
}

const checkId = (id: number) => check('id', id, 'number', 0, Number.MAX_SAFE_INTEGER)
