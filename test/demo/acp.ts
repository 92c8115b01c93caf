/** Starts the ACP example as a person would, and speaks to its agent as a page does. */
import { createServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { client } from '@agentclientprotocol/sdk'
import { onTestFinished } from 'vitest'
import { createAcpHttpStream } from '../../src/acp/index.ts'
import { type Served, startServing } from './demo.ts'

const START = fileURLToPath(new URL('../../examples/acp-bridge/start.mjs', import.meta.url))
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TETHERED = fileURLToPath(new URL('tethered-agent.mjs', import.meta.url))
/** Fast, so that a turn takes three seconds or so; the cut is long enough to miss some of it. */
const PACE = { AGENT_PACE_MS: '20', CUT_MS: '250', PORT: '0' }

/** `npm run acp`, or `npm run acp -- <agent>`, without npm. */
export const startAcp = (...agent: string[]): Promise<Served> =>
  startServing(process.execPath, [START, ...agent], PACE)

/** The very command, npm included. */
export const startByNpm = (...agent: string[]): Promise<Served> =>
  startServing('npm', ['--prefix', ROOT, 'run', 'acp', '--', ...agent], PACE)

/** What holds on to this port is alive. */
export class Tether {
  readonly #server: Server
  readonly #waiting: ((one: Tethered) => void)[] = []
  readonly #come: Tethered[] = []

  private constructor() {
    this.#server = createServer((socket) => {
      // A process that is killed may reset it.
      socket.on('error', () => {})
      const gone = new Promise<void>((resolve) => socket.once('close', resolve))
      socket.once('data', (line) => {
        const one = { flags: JSON.parse(`${line}`), gone }
        const next = this.#waiting.shift()
        if (next) next(one)
        else this.#come.push(one)
      })
    })
  }

  static async open(): Promise<Tether> {
    const tether = new Tether()
    await new Promise<void>((resolve) => tether.#server.listen(0, '127.0.0.1', resolve))
    return tether
  }

  /** The command line of an agent that holds on to it. */
  agent(...flags: string[]): string[] {
    const { port } = this.#server.address() as { port: number }
    return [process.execPath, TETHERED, `${port}`, ...flags]
  }

  /** The next process that has come. */
  next(): Promise<Tethered> {
    const one = this.#come.shift()
    return one ? Promise.resolve(one) : new Promise((resolve) => this.#waiting.push(resolve))
  }

  close(): void {
    this.#server.close()
  }
}

export interface Tethered {
  readonly flags: string[]
  /** The process is over. */
  readonly gone: Promise<void>
}

interface Said {
  readonly said: number
  readonly text: string
  readonly fault?: string
}

export interface Speaker {
  /** What the agent has answered so far. */
  readonly text: string
  readonly permissions: number
  readonly retries: number
  /** Resolves once the text is so long. */
  reads(length: number): Promise<void>
  prompt(text: string): Promise<string>
  cut(): Promise<Response>
  /** What the server noted of the agent. */
  books(): Promise<Said>
  fault(): Promise<string | undefined>
  /** Its connection is over. */
  readonly over: Promise<void>
  /** Takes its session's stream over; the rest of it rejects where it breaks off. */
  takeOver(): Promise<{ readonly rest: Promise<string> }>
}

/** A client with a session. Rejects where the agent does not answer. */
export async function speakTo(url: string, page = 'test'): Promise<Speaker> {
  const headers = { 'Demo-Page': page }
  const life = new AbortController()
  onTestFinished(() => life.abort())
  let text = ''
  let permissions = 0
  let retries = 0
  let connectionId: string | undefined
  let look = () => {}
  const app = client()
    .onNotification('session/update', ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
        text += update.content.text
      look()
    })
    .onRequest('session/request_permission', ({ params }) => {
      permissions += 1
      return { outcome: { outcome: 'selected', optionId: params.options[0]?.optionId ?? '' } }
    })
  const { agent, closed } = app.connect(
    createAcpHttpStream(`${url}/acp`, {
      headers,
      signal: life.signal,
      retryMs: 50,
      fetch(target, init) {
        connectionId ??= new Headers(init?.headers).get('acp-connection-id') ?? undefined
        return fetch(target, init)
      },
      onRetry: () => {
        retries += 1
      },
    }),
  )
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await agent.request('session/new', { cwd: ROOT, mcpServers: [] })
  const ask = async (path: string): Promise<Said> =>
    (await fetch(`${url}/${path}`, { headers })).json() as Promise<Said>
  return {
    get text() {
      return text
    },
    get permissions() {
      return permissions
    },
    get retries() {
      return retries
    },
    reads: (length) =>
      new Promise((resolve) => {
        look = () => {
          if (text.length >= length) resolve()
        }
        look()
      }),
    async prompt(question) {
      const prompt = [{ type: 'text' as const, text: question }]
      const { stopReason } = await agent.request<{ stopReason: string }>('session/prompt', {
        sessionId,
        prompt,
      })
      return stopReason
    },
    cut: () => fetch(`${url}/cut`, { method: 'POST', headers }),
    books: () => ask('books'),
    fault: async () => (await ask('fault')).fault,
    over: closed,
    async takeOver() {
      const names = { 'acp-connection-id': connectionId ?? '', 'acp-session-id': sessionId }
      const response = await fetch(`${url}/acp`, {
        headers: { ...headers, ...names, accept: 'text/event-stream' },
      })
      return { rest: response.text() }
    },
  }
}
