/** Agents for the tests of ACP: one built with the official SDK, and one that says what a test tells it to. */

import { type AgentApp, agent } from '@agentclientprotocol/sdk'
import type { MessageStream } from '../../src/acp/index.ts'
import { until } from './until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of any shape.
export type Message = any

/** An app of the SDK as the pair of streams that a bridge connects. */
export function connected(app: AgentApp): MessageStream {
  const toAgent = new TransformStream()
  const fromAgent = new TransformStream()
  app.connect({ readable: toAgent.readable, writable: fromAgent.writable })
  return { readable: fromAgent.readable, writable: toAgent.writable }
}

export const update = (sessionId: string, text: string) => ({
  sessionId,
  update: { sessionUpdate: 'agent_message_chunk' as const, content: { type: 'text' as const, text } },
})

export const permission = (sessionId: string) => ({
  sessionId,
  toolCall: { toolCallId: 'call-1', title: 'rm -rf' },
  options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' as const }],
  _meta: { requestId: 'permission-1' },
})

/**
 * Streams as many chunks as the prompt says (`20`), asking for permission in the middle; told `wait`, it waits to be
 * cancelled.
 */
export function scriptedAgent(): AgentApp {
  let sessions = 0
  const cancelled = new Map<string, () => void>()
  return agent()
    .onRequest('initialize', () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }))
    .onRequest('session/new', () => ({ sessionId: `session-${++sessions}` }))
    .onRequest('session/load', async ({ client, params }) => {
      for (const text of ['old 1', 'old 2'])
        await client.notify('session/update', update(params.sessionId, text))
      return {}
    })
    .onRequest('session/close', () => ({}))
    .onNotification('session/cancel', ({ params }) => cancelled.get(params.sessionId)?.())
    .onRequest('session/prompt', async ({ client, params }) => {
      const { sessionId, prompt } = params
      const text = (prompt[0] as { text: string }).text
      if (text === 'wait') {
        await client.notify('session/update', update(sessionId, 'waiting'))
        await new Promise<void>((resolve) => cancelled.set(sessionId, resolve))
        return { stopReason: 'cancelled' }
      }
      const chunks = Number(text)
      for (let n = 1; n <= chunks; n++) {
        if (n === (chunks >> 1) + 1) {
          const { outcome } = await client.request<Message>(
            'session/request_permission',
            permission(sessionId),
          )
          await client.notify('session/update', update(sessionId, `permission ${outcome.outcome}`))
        }
        await client.notify('session/update', update(sessionId, `chunk ${n}`))
      }
      return { stopReason: 'end_turn' }
    })
}

/** An agent whose words are the test's. It answers `initialize` and `session/new` by itself. */
export class HandAgent {
  readonly heard: Message[] = []
  readonly stream: MessageStream
  #says!: ReadableStreamDefaultController<Message>
  /** Its input was closed. */
  closed = false
  #sessions = 0

  constructor({ answers = true } = {}) {
    this.stream = {
      readable: new ReadableStream<Message>({
        start: (controller) => {
          this.#says = controller
        },
      }),
      writable: new WritableStream<Message>({
        write: (message) => {
          this.heard.push(message)
          if (!answers) return
          if (message.method === 'initialize') this.answer(message, { protocolVersion: 1 })
          if (message.method === 'session/new') this.answer(message, { sessionId: `s${++this.#sessions}` })
        },
        close: () => {
          this.closed = true
        },
      }),
    }
  }

  say(...messages: Message[]): void {
    for (const message of messages) this.#says.enqueue({ jsonrpc: '2.0', ...message })
  }

  /** Whatever it is. */
  raw(value: unknown): void {
    this.#says.enqueue(value)
  }

  answer({ id }: Message, result: Message = {}): void {
    this.say({ id, result })
  }

  chunk(sessionId: string, text: string): void {
    this.say({ method: 'session/update', params: update(sessionId, text) })
  }

  ask(sessionId: string, id: Message): void {
    this.say({ id, method: 'session/request_permission', params: permission(sessionId) })
  }

  exit(): void {
    this.#says.close()
  }

  /** Messages of that method, or answers to that id. */
  of(name: Message): Message[] {
    return this.heard.filter(({ method, id }) => (method === undefined ? id === name : method === name))
  }

  async hears(name: Message, times = 1): Promise<Message> {
    await until(() => this.of(name).length >= times, `the agent to hear ${name}`)
    return this.of(name)[times - 1]
  }
}
