/** A bridge without a network, and the requests that clients send to it. */

import { createParser } from 'eventsource-parser'
import { onTestFinished } from 'vitest'
import {
  type AcpBridge,
  type AcpBridgeOptions,
  type AcpDiagnostic,
  createAcpBridge,
} from '../../src/acp/index.ts'
import { HandAgent, type Message } from './acp-agent.ts'
import { until } from './until.ts'

/** One GET, read as it comes; `stop` leaves the rest with the server. */
export class Reader {
  readonly messages: Message[] = []
  /** Messages, ids and comments in order: `3 session/update`, `answer 7`, `cursor 4`, `: replay_complete`. */
  readonly said: string[] = []
  readonly response: Response
  cursor: string | undefined
  over = false
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #abort: AbortController

  constructor(response: Response, abort: AbortController) {
    this.response = response
    this.#abort = abort
    this.#reader = response.body?.getReader()
    void this.#read()
  }

  get status(): number {
    return this.response.status
  }

  async #read() {
    const decoder = new TextDecoder()
    let lone: string | undefined
    const short = (id: string) => id.replace(/^[^:]*:/, '')
    const flush = () => {
      if (lone !== undefined) this.said.push(`cursor ${short(lone)}`)
      lone = undefined
    }
    const parser = createParser({
      onId: (id) => {
        flush()
        this.cursor = id
        lone = id
      },
      onComment: (comment) => this.said.push(`: ${comment.trim()}`),
      onEvent: ({ id, data }) => {
        if (id === undefined) flush()
        lone = undefined
        if (data === '') {
          this.said.push(`cursor ${short(id ?? '')}`)
          return
        }
        const message = JSON.parse(data)
        this.messages.push(message)
        const what = message.method ?? `answer ${message.id}`
        this.said.push(id === undefined ? what : `${short(id)} ${what}`)
      },
    })
    try {
      for (;;) {
        const { done, value } = (await this.#reader?.read()) ?? { done: true, value: undefined }
        if (done) break
        parser.feed(decoder.decode(value, { stream: true }))
        flush()
      }
    } catch {
      // Cut.
    }
    this.over = true
  }

  /** What a torn connection is to the server. */
  cut(): void {
    this.#abort.abort()
    this.#reader?.cancel().catch(() => {})
  }

  async until(condition: (reader: this) => boolean): Promise<this> {
    await until(() => condition(this), `${condition}\nread so far: ${JSON.stringify(this.said)}`)
    return this
  }

  /** What a client is shown or told: cursor blocks, which come when nothing else does, left out. */
  get heard(): string[] {
    return this.said.filter((one) => !one.startsWith('cursor'))
  }

  /** Texts of the chunks, in order. */
  get chunks(): string[] {
    return this.messages.flatMap((message) => message.params?.update?.content?.text ?? [])
  }
}

export interface Scene {
  readonly bridge: AcpBridge
  /** The agents in the order in which they were connected. */
  readonly agents: HandAgent[]
  readonly diagnostics: AcpDiagnostic[]
  /** Sends one request as it is. */
  request(method: string, headers?: Record<string, string>, body?: BodyInit): Promise<Response>
  initialize(headers?: Record<string, string>): Promise<Line>
}

/** A connection, as a client with nothing but `fetch` has it. */
export interface Line {
  readonly id: string
  readonly agent: HandAgent
  /** Sends a message, with the header of the session that it names; the status. */
  post(message: Message, session?: string | null): Promise<number>
  get(session?: string, cursor?: string | number, headers?: Record<string, string>): Promise<Reader>
  remove(): Promise<number>
  /** A session, with its stream. */
  begin(): Promise<{ session: string; stream: Reader; own: Reader }>
}

export const JSON_HEADERS = { 'content-type': 'application/json' }

export function scene(options: Partial<AcpBridgeOptions> = {}): Scene {
  const agents: HandAgent[] = []
  const diagnostics: AcpDiagnostic[] = []
  const bridge = createAcpBridge({
    connectAgent() {
      const agent = new HandAgent()
      agents.push(agent)
      return agent.stream
    },
    heartbeatMs: 0,
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    ...options,
  })
  onTestFinished(() => bridge.close())

  const send = (method: string, headers: Record<string, string>, body?: BodyInit, signal?: AbortSignal) =>
    bridge.handleRequest(
      new Request('http://host/acp', {
        method,
        headers,
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      }),
    )

  return {
    bridge,
    agents,
    diagnostics,
    request: (method, headers = {}, body) => send(method, headers, body),
    async initialize(extra = {}) {
      const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: 1 } }
      const response = await send('POST', { ...JSON_HEADERS, ...extra }, JSON.stringify(message))
      if (response.status !== 200) throw new Error(`initialize was answered ${response.status}`)
      const id = response.headers.get('acp-connection-id') as string
      const agent = agents.at(-1) as HandAgent
      let calls = 0
      const line: Line = {
        id,
        agent,
        async post(message, session = message.params?.sessionId ?? null) {
          const headers = {
            ...JSON_HEADERS,
            ...extra,
            'acp-connection-id': id,
            ...(session !== null && { 'acp-session-id': session }),
          }
          const answer = await send('POST', headers, JSON.stringify({ jsonrpc: '2.0', ...message }))
          return answer.status
        },
        async get(session, cursor, more = {}) {
          const abort = new AbortController()
          const headers = {
            accept: 'text/event-stream',
            ...extra,
            'acp-connection-id': id,
            ...(session !== undefined && { 'acp-session-id': session }),
            ...(cursor !== undefined && { 'last-event-id': `${cursor}` }),
            ...more,
          }
          return new Reader(await send('GET', headers, undefined, abort.signal), abort)
        },
        remove: async () => (await send('DELETE', { ...extra, 'acp-connection-id': id })).status,
        async begin() {
          const own = await line.get()
          const id = `new ${++calls}`
          await line.post({ id, method: 'session/new', params: { cwd: '/', mcpServers: [] } })
          await own.until(({ messages }) => messages.some((message) => message.id === id))
          const session = own.messages.find((message) => message.id === id).result.sessionId
          return { session, own, stream: await line.get(session) }
        },
      }
      return line
    },
  }
}
