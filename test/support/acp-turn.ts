/** A turn of 500 chunks, with a permission in the middle and an answer at the end, through a network that cuts. */

import { onTestFinished } from 'vitest'
import {
  type AcpBridgeOptions,
  createAcpBridge,
  createAcpHttpStream,
  type MessageStream,
} from '../../src/acp/index.ts'
import { toNodeHandler } from '../../src/node/index.ts'
import { type Message, permission, update } from './acp-agent.ts'
import type { Fate } from './chaos-plan.ts'
import { chaosProxy } from './chaos-proxy.ts'
import { serve } from './http-server.ts'
import { settle, within } from './until.ts'

export const CHUNKS = 500

/** One turn after the other, each as fast as it is taken in; notes how often each prompt was run. */
export class TurnAgent {
  readonly stream: MessageStream
  /** The texts of the prompts, as they came. */
  readonly prompts: string[] = []
  /** Answers to each question. */
  readonly answers: Message[] = []
  #say: (message: Message) => Promise<void>
  #answered = new Map<unknown, () => void>()
  #sessions = 0

  constructor() {
    const out = new TransformStream<Message, Message>()
    const writer = out.writable.getWriter()
    this.#say = (message) => writer.write({ jsonrpc: '2.0', ...message }).catch(() => {})
    this.stream = {
      readable: out.readable,
      writable: new WritableStream<Message>({ write: (message) => this.#hear(message) }),
    }
  }

  #hear({ id, method, params, result }: Message): void {
    if (method === undefined) {
      this.answers.push({ id, result })
      this.#answered.get(id)?.()
    } else if (method === 'initialize') void this.#say({ id, result: { protocolVersion: 1 } })
    else if (method === 'session/new') void this.#say({ id, result: { sessionId: `s${++this.#sessions}` } })
    else if (method === 'session/prompt') void this.#turn(id, params)
  }

  async #turn(id: unknown, { sessionId, prompt }: Message): Promise<void> {
    this.prompts.push(prompt[0].text)
    for (let n = 1; n <= CHUNKS; n++) {
      if (n === CHUNKS / 2) {
        const question = `permission of ${sessionId}`
        const answered = new Promise<void>((resolve) => this.#answered.set(question, resolve))
        await this.#say({ id: question, method: 'session/request_permission', params: permission(sessionId) })
        await answered
      }
      await this.#say({ method: 'session/update', params: update(sessionId, `${n}`) })
    }
    await this.#say({ id, result: { stopReason: 'end_turn' } })
  }
}

export interface Turn {
  /** What the client read in its session, in order: texts of chunks, `permission`, `answer`, notifications of ours. */
  readonly read: string[]
  /** How often the agent ran the prompt. */
  readonly runs: number
  /** Answers that the agent got to its question. */
  readonly answers: number
}

/** What every client is to read. */
export const WHOLE: readonly string[] = [
  ...Array.from({ length: CHUNKS / 2 - 1 }, (_, n) => `${n + 1}`),
  'permission',
  ...Array.from({ length: CHUNKS / 2 + 1 }, (_, n) => `${n + CHUNKS / 2}`),
  'answer',
]

export interface Network {
  readonly agents: TurnAgent[]
  /** Connections that were cut. */
  readonly cuts: number
  /** One connection with one turn, through a proxy of its own; its fates begin once what may not be repeated is through. */
  turn(nextFate: () => Fate | undefined, client?: object): Promise<Turn>
}

export async function network(options: Partial<AcpBridgeOptions> = {}): Promise<Network> {
  const agents: TurnAgent[] = []
  const bridge = createAcpBridge({
    connectAgent() {
      const agent = new TurnAgent()
      agents.push(agent)
      return agent.stream
    },
    heartbeatMs: 20,
    ...options,
  })
  onTestFinished(() => bridge.close())
  const server = await serve(toNodeHandler(bridge.handleRequest), { readsBody: true })
  // Each request has a connection, and a fate, of its own.
  ;(server.server as import('node:http').Server).maxRequestsPerSocket = 1
  let cuts = 0
  return {
    agents,
    get cuts() {
      return cuts
    },
    async turn(nextFate, client = {}) {
      let armed = false
      const proxy = await chaosProxy(server.port, () => (armed ? nextFate() : undefined))
      const stream = createAcpHttpStream(`${proxy.url}acp`, {
        retryMs: 1,
        maxRetryMs: 20,
        idleTimeoutMs: 200,
        connectTimeoutMs: 500,
        ...client,
      })
      const writer = stream.writable.getWriter()
      const reader = stream.readable.getReader()
      // What cannot be sent fails the stream, which is read.
      const say = (message: Message) => void writer.write({ jsonrpc: '2.0', ...message }).catch(() => {})
      const until = async (condition: (message: Message) => boolean): Promise<Message> => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) throw new Error(`the stream ended; read: ${read}`)
          if (condition(value)) return value
        }
      }
      const read: string[] = []
      const note = ({ id, method, params }: Message) => {
        if (method === 'session/update') read.push(params.update.content.text)
        else if (method === 'session/request_permission') read.push('permission')
        else if (method !== undefined) read.push(`${method} ${params.reason ?? params.code}`)
        else if (id === 2) read.push('answer')
      }
      const all = async () => {
        say({ id: 0, method: 'initialize', params: { protocolVersion: 1 } })
        await until(({ id }) => id === 0)
        const agent = agents.at(-1) as TurnAgent
        armed = true
        say({ id: 1, method: 'session/new', params: { cwd: '/', mcpServers: [] } })
        const { result } = await until(({ id }) => id === 1)
        const { sessionId } = result
        say({
          id: 2,
          method: 'session/prompt',
          params: { sessionId, prompt: [{ type: 'text', text: 'go' }] },
        })
        await until((message) => {
          note(message)
          if (message.method === 'session/request_permission') {
            const outcome = { outcome: 'selected', optionId: 'yes' }
            say({ id: message.id, result: { outcome } })
          }
          return message.id === 2
        })
        // Nothing comes behind the answer.
        const rest = until((message) => {
          note(message)
          return false
        }).catch(() => {})
        await settle(10)
        await writer.close()
        await rest
        return { read, runs: agent.prompts.length, answers: agent.answers.length }
      }
      return within(all(), 'the turn to end', 15_000)
        .catch((error) => {
          void writer.abort().catch(() => {})
          throw new Error(`${error.message}; read ${read.length}: …${read.slice(-3)}`)
        })
        .finally(() => {
          cuts += proxy.cuts
          return proxy.close()
        })
    },
  }
}
