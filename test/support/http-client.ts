import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { Transcript } from './http-transcript.ts'
import { until } from './until.ts'

export interface RequestShape {
  path?: string
  method?: string
  /** A list where a header is to be sent twice. */
  headers?: Record<string, string> | readonly (readonly [string, string])[]
  /** 1.0 gets no chunked coding. */
  version?: '1.1' | '1.0'
  body?: string
}

/** What a test reads of one response, whatever carries it. */
export interface Stream {
  readonly status: number
  readonly headers: Headers
  readonly transcript: Transcript
  /** The response is complete. */
  readonly ended: boolean
  /** The response was torn: over, but not complete. */
  readonly torn: boolean
  /** Goes away as a client does that closes the tab. */
  leave(): void
}

/** Waits for the stream to have said so much. */
export function heard(stream: Stream, condition: (transcript: Transcript) => boolean): Promise<void> {
  return until(
    () => condition(stream.transcript),
    `${condition}\nso far: ${JSON.stringify(stream.transcript.said).slice(-2000)}`,
  )
}

export function ended(stream: Stream): Promise<void> {
  return until(() => stream.ended, `the end; so far: ${JSON.stringify(stream.transcript.said).slice(-2000)}`)
}

export function over(stream: Stream): Promise<void> {
  return until(() => stream.ended || stream.torn, 'the end of the response or of its connection')
}

/** HTTP/1 over a bare socket: it can stop reading, be destroyed in the middle of a frame and half-close. */
export class RawClient implements Stream {
  status = 0
  headers = new Headers()
  /** Status line and header lines as they came. */
  headText = ''
  transcript = new Transcript()
  ended = false
  closed = false
  error: Error | undefined
  readonly socket: Socket
  #pending: Buffer = Buffer.alloc(0)
  #chunked = false
  #bodiless = false
  #chunkLeft = 0
  /** Of a body with a length. */
  #lengthLeft = Infinity
  #cutAfter = Infinity

  constructor(port: number, request: RequestShape = {}) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    this.#bodiless = request.method === 'HEAD'
    this.socket.write(requestText(port, request))
    this.socket.on('data', (chunk) => this.#take(chunk))
    this.socket.on('end', () => {
      // Without a coding that marks its end, a body ends where the connection does.
      if (this.status !== 0 && !this.#chunked && this.#lengthLeft === Infinity) this.ended = true
      this.socket.end()
    })
    this.socket.on('error', (error) => {
      this.error = error
    })
    this.socket.on('close', () => {
      this.closed = true
    })
    onTestFinished(() => this.destroy())
  }

  get torn(): boolean {
    return this.closed && !this.ended
  }

  async head(): Promise<this> {
    await until(() => this.status !== 0 || this.closed, 'the head of the response')
    return this
  }

  /** Stops reading: what the server writes fills the buffers between. */
  stopReading(): void {
    this.socket.pause()
  }

  readOn(): void {
    this.socket.resume()
  }

  /** Reads at most about `bytes` more of the body, then stops reading again. */
  async readSome(bytes: number): Promise<void> {
    const goal = this.transcript.bytes + bytes
    this.readOn()
    await until(() => this.transcript.bytes >= goal || this.ended || this.closed, `${bytes} more bytes`)
    this.stopReading()
  }

  /** Destroys the connection as soon as the body has brought `bytes`; not one byte more is looked at. */
  cutAfter(bytes: number): this {
    this.#cutAfter = bytes
    if (bytes === 0) this.destroy()
    return this
  }

  destroy(): void {
    this.socket.destroy()
  }

  /** Ends with a reset instead of a FIN. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** Sends FIN and goes on reading. */
  halfClose(): void {
    this.socket.end()
  }

  leave(): void {
    this.destroy()
  }

  #take(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    if (this.status === 0 && !this.#takeHead()) return
    if (!this.#chunked) {
      this.#lengthLeft -= this.#pending.length
      this.#body(this.#pending)
      this.#pending = Buffer.alloc(0)
      if (this.#lengthLeft <= 0) this.ended = true
      return
    }
    while (this.#takeChunk()) {}
  }

  #takeHead(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n')
    if (end === -1) return false
    this.headText = this.#pending.toString('latin1', 0, end)
    this.#pending = this.#pending.subarray(end + 4)
    const [statusLine = '', ...lines] = this.headText.split('\r\n')
    for (const line of lines) {
      const colon = line.indexOf(':')
      this.headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
    }
    this.#chunked = this.headers.get('transfer-encoding') === 'chunked'
    this.status = Number(statusLine.split(' ')[1])
    this.#lengthLeft = Number(this.headers.get('content-length') ?? Infinity)
    if (this.#bodiless || this.status === 204 || this.#lengthLeft === 0) this.ended = true
    return true
  }

  #takeChunk(): boolean {
    if (this.#chunkLeft > 0) {
      const part = this.#pending.subarray(0, this.#chunkLeft)
      if (part.length === 0) return false
      this.#pending = this.#pending.subarray(part.length)
      this.#chunkLeft -= part.length
      this.#body(part)
      return this.#pending.length > 0
    }
    if (this.#pending[0] === 13) this.#pending = this.#pending.subarray(2)
    const end = this.#pending.indexOf('\r\n')
    if (end === -1) return false
    this.#chunkLeft = Number.parseInt(this.#pending.toString('latin1', 0, end), 16)
    this.#pending = this.#pending.subarray(end + 2)
    if (this.#chunkLeft === 0) {
      this.ended = true
      return false
    }
    return true
  }

  #body(part: Buffer): void {
    const left = this.#cutAfter - this.transcript.bytes
    if (left <= 0) return
    this.transcript.feed(part.subarray(0, Math.min(part.length, left)))
    if (part.length >= left) this.destroy()
  }
}

function requestText(
  port: number,
  { path = '/', method = 'GET', headers = {}, version = '1.1', body }: RequestShape,
): string {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers)
  const lines = [`${method} ${path} HTTP/${version}`]
  if (!pairs.some(([name]) => name.toLowerCase() === 'host')) lines.push(`Host: 127.0.0.1:${port}`)
  for (const [name, value] of pairs) lines.push(`${name}: ${value}`)
  if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}
