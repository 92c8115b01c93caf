import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { Transcript } from './http-transcript.ts'

/** A socket whose other side takes bytes only when the test says so. */
export class HeldSocket extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly encrypted = false
  /** As Node's own sockets count: what waits is counted, too. */
  get bytesWritten(): number {
    return this.taken + this.writableLength
  }
  /** Bytes that reached the other side. */
  taken = 0
  readonly received = new Transcript()
  #held: { chunk: Buffer; done: () => void }[] = []
  #open: boolean
  #head = true

  constructor(options: { highWaterMark?: number; open?: boolean } = {}) {
    super({ writableHighWaterMark: options.highWaterMark ?? 16_384, allowHalfOpen: true })
    this.#open = options.open ?? true
  }

  /** The peer takes what is waiting, and from now on all that comes. */
  open(): void {
    this.#open = true
    for (const held of this.#held.splice(0)) this.#take(held.chunk, held.done)
  }

  /** The peer takes nothing more. */
  shut(): void {
    this.#open = false
  }

  /** The peer takes the oldest write that waits, whole. */
  takeOne(): boolean {
    const held = this.#held.shift()
    if (held === undefined) return false
    this.#take(held.chunk, held.done)
    return true
  }

  get holding(): number {
    return this.#held.length
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#open) this.#take(chunk, done)
    else this.#held.push({ chunk, done })
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#held = []
    done(error)
  }

  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }

  #take(chunk: Buffer, done: () => void): void {
    this.taken += chunk.length
    let body = chunk
    if (this.#head) {
      const end = chunk.indexOf('\r\n\r\n')
      if (end !== -1) this.#head = false
      body = end === -1 ? Buffer.alloc(0) : chunk.subarray(end + 4)
    }
    if (body.length > 0) this.received.feed(body)
    done()
  }
}

export interface FakeExchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly socket: HeldSocket
}

/**
 * Node's own request and response on a socket that a test holds in its hand. HTTP/1.0, so that the body is what was
 * written and nothing else.
 */
export function fakeExchange(
  options: {
    method?: string
    url?: string
    headers?: Record<string, string>
    highWaterMark?: number
    open?: boolean
  } = {},
): FakeExchange {
  const socket = new HeldSocket(options)
  const req = new IncomingMessage(socket as unknown as Socket)
  req.method = options.method ?? 'GET'
  req.url = options.url ?? '/'
  req.headers = options.headers ?? {}
  req.httpVersion = '1.0'
  req.httpVersionMajor = 1
  req.httpVersionMinor = 0
  req.complete = true
  req.push(null)
  const res = new (ServerResponse as new (...args: unknown[]) => ServerResponse)(req, {
    highWaterMark: options.highWaterMark ?? 16_384,
  })
  res.assignSocket(socket as unknown as Socket)
  // Node's server wires this up for its own sockets.
  socket.on('drain', () => {
    if (res.writableNeedDrain) res.emit('drain')
  })
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  return { req, res, socket }
}

/** How many listeners each of the emitters has, for a comparison before and after. */
export function listenerCounts({ req, res, socket }: FakeExchange): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const [name, emitter] of Object.entries({ req, res, socket })) {
    for (const event of ['close', 'finish', 'error', 'drain', 'end', 'data', 'aborted']) {
      counts[`${name} ${event}`] = emitter.listenerCount(event)
    }
  }
  return counts
}
