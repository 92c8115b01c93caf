/** One SSE stream as the transport of a session: messages in, each with the id that the session gives it. */

import { check, option } from '../internal/check.ts'
import { cursorText } from '../internal/cursor.ts'
import { type EndReason, Pump, type Sink, type Source } from '../internal/pump.ts'
import { cursorBlock } from '../sse/block.ts'
import type { Pumped } from './body.ts'
import type { Bytes } from './encoder.ts'
import { checkTimes, HEARTBEAT, retryText, type TimeOptions } from './options.ts'

/** What a session sends to, whatever carries it. */
export interface TransportStream {
  /**
   * Sends a message as JSON, with an `id:` line where there is an id. Settles when the stream took it: a client that does
   * not read keeps it pending. Rejects with `code: 'transport_closed'` on a stream that is over.
   */
  send(message: unknown, id?: number): void | Promise<void>
  /** Moves the client's cursor, and shows it nothing. */
  cursor?(id: number): void | Promise<void>
  /** Ends the stream behind what was sent; a reason is told as `stream_error{code: reason}`. */
  close(reason?: string): void
  readonly isClosed: boolean
  /** Settles when the stream is over, whoever ended it. */
  readonly closed: Promise<void>
}

export interface SseTransportOptions extends TimeOptions {
  /** Written into each id, `<epoch>:<id>`; default the bare id. */
  epoch?: string | undefined
}

interface Outgoing {
  readonly bytes: Uint8Array
  readonly taken: () => void
  readonly refused: (error: Error) => void
}

class TransportClosedError extends Error {
  readonly code = 'transport_closed'

  constructor() {
    super('the transport is closed')
    this.name = 'TransportClosedError'
  }
}

/** Messages that wait for the sink. */
class MessageSource implements Source {
  ended: EndReason | undefined
  /** The first one may have been written, and wait for room in the sink. */
  #queue: Outgoing[] = []
  #written = false
  #wake: (() => void) | undefined
  readonly #heartbeat: Uint8Array

  constructor(heartbeat: Uint8Array) {
    this.#heartbeat = heartbeat
  }

  push(bytes: Uint8Array): Promise<void> {
    const sent = new Promise<void>((taken, refused) => {
      if (this.ended === undefined) this.#queue.push({ bytes, taken, refused })
      else refused(new TransportClosedError())
    })
    // Whoever does not wait for a send need not be told that it failed.
    sent.catch(() => {})
    this.#rouse()
    return sent
  }

  take(): Uint8Array | undefined {
    if (this.#written) return undefined
    this.#written = this.#queue.length > 0
    return this.#queue[0]?.bytes
  }

  taken(): void {
    if (this.#written) this.#queue.shift()?.taken()
    this.#written = false
  }

  wait(wake: () => void): void {
    this.#wake = wake
  }

  beat(): Uint8Array {
    return this.#heartbeat
  }

  /** Ends behind what is queued. */
  end(): void {
    this.ended ??= 'ended'
    this.#rouse()
  }

  close(): void {
    this.ended ??= 'ended'
    for (const { refused } of this.#queue.splice(0)) refused(new TransportClosedError())
  }

  #rouse(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}

export interface OpenTransport {
  readonly transport: TransportStream
  readonly stream: Pumped
  readonly headers: Headers
}

/** Throws `TypeError` or `RangeError` naming the option. The stream begins when it is given a sink. */
export function openTransport(options: SseTransportOptions, { encode }: Bytes): OpenTransport {
  const { heartbeatMs, stallTimeoutMs, retryMs, headers } = checkTimes(options)
  const epoch = option(options, 'epoch', 'string', undefined)
  if (epoch !== undefined && !/^[\w-]{1,64}$/.test(epoch))
    throw new RangeError('epoch must be 1 to 64 of A-Z a-z 0-9 _ -')
  const source = new MessageSource(encode(HEARTBEAT))
  let isClosed = false
  let over: () => void = () => {}
  const closed = new Promise<void>((resolve) => {
    over = resolve
  })
  const pump = new Pump(source, { beatMs: heartbeatMs || Infinity, stallTimeoutMs }, () => {
    isClosed = true
    over()
  })
  const transport: TransportStream = {
    async send(message, id) {
      const idLine = id === undefined ? '' : `id: ${cursorText(checkId(id), epoch)}\n`
      await source.push(encode(`${idLine}data: ${JSON.stringify(message) ?? 'null'}\n\n`))
    },
    async cursor(id) {
      await source.push(encode(cursorBlock(checkId(id), epoch)))
    },
    close(reason) {
      if (reason !== undefined) {
        const data = JSON.stringify({ v: 1, type: 'stream_error', data: { error: reason, code: reason } })
        void source.push(encode(`event: stream_error\ndata: ${data}\n\n`)).catch(() => {})
      }
      isClosed = true
      source.end()
    },
    get isClosed() {
      return isClosed || source.ended !== undefined
    },
    closed,
  }
  const start = (sink: Sink) => pump.start(sink, encode(retryText(retryMs)))
  return { transport, stream: { pump, start }, headers }
}

function checkId(id: number): number {
  return check('id', id, 'number', 0, Number.MAX_SAFE_INTEGER)
}
