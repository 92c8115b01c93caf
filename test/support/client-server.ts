/** A server for the clients, as one `fetch`: a test answers each request by hand, byte by byte where it matters. */

import { vi } from 'vitest'
import { flush } from './reading.ts'

const encoder = new TextEncoder()

/** One request of a client, and what the test lets become of it. */
export class FakeExchange {
  readonly url: string
  readonly method: string | undefined
  readonly headers: Headers
  readonly init: RequestInit
  /** Chunks that the client asked for. */
  pulls = 0
  /** The client let go of the body. */
  cancelled = false
  #settle!: { resolve(response: Response): void; reject(error: unknown): void }
  #body!: ReadableStreamDefaultController<Uint8Array>
  readonly response: Promise<Response>

  constructor(url: string, init: RequestInit) {
    this.url = url
    this.init = init
    this.method = init.method
    this.headers = new Headers(init.headers)
    this.response = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
  }

  get aborted(): boolean {
    return this.init.signal?.aborted === true
  }

  /** The cursor in the header; undefined without one. */
  get lastEventId(): string | undefined {
    return this.headers.get('last-event-id') ?? undefined
  }

  /** The head of an event stream, or of anything else, and the text that is there at once. */
  answer(
    text?: string,
    { status = 200, headers = {} }: { status?: number; headers?: HeadersInit } = {},
  ): this {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller
        },
        pull: () => {
          this.pulls++
        },
        cancel: () => {
          this.cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    const all = new Headers({
      'content-type': 'text/event-stream',
      ...Object.fromEntries(new Headers(headers)),
    })
    this.#settle.resolve(new Response([204, 304].includes(status) ? null : body, { status, headers: all }))
    if (text !== undefined) this.send(text)
    return this
  }

  send(chunk: string | Uint8Array): this {
    this.#body.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk)
    return this
  }

  end(): void {
    this.#body.close()
  }

  /** The network fails: before the head, or in the middle of the body. */
  fail(error: unknown = new TypeError('network')): void {
    this.#settle.reject(error)
    this.#body?.error(error)
  }

  /** A refusal with its whole body. */
  refuse(status: number, headers: HeadersInit = {}, text = ''): void {
    this.answer(text, {
      status,
      headers: { 'content-type': 'text/plain', ...Object.fromEntries(new Headers(headers)) },
    })
    if (status !== 304) this.end()
  }
}

export interface FakeServer {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly exchanges: FakeExchange[]
  /** The latest request, once everything that is on its way has arrived. */
  latest(): Promise<FakeExchange>
}

export function fakeServer(): FakeServer {
  const exchanges: FakeExchange[] = []
  return {
    exchanges,
    fetch: (url, init) => {
      const exchange = new FakeExchange(url, init)
      exchanges.push(exchange)
      return exchange.response
    },
    async latest() {
      await flush()
      const exchange = exchanges.at(-1)
      if (exchange === undefined) throw new Error('no request came')
      return exchange
    },
  }
}

/** Runs every timer that is due within so many milliseconds, and what follows from it. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** An event of a bus as `serveSse` writes it. */
export function eventText(id: number, epoch = 'e1', type = 'tick'): string {
  return `id: ${epoch}:${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, v: 1, type, data: id })}\n\n`
}

export function controlText(type: string, data: unknown): string {
  return `event: ${type}\ndata: ${JSON.stringify({ v: 1, type, data })}\n\n`
}

export function cursorText(cursor: string): string {
  return `id: ${cursor}\nevent: cursor\ndata:\n\n`
}
