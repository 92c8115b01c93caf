/** A server and a client of either SDK, with one session between them and one tool, which counts. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Client as Client2,
  StreamableHTTPClientTransport as ClientTransport2,
} from '@modelcontextprotocol/client'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as ClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { Server as Server2 } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import type { EventStore } from '../../src/mcp/index.ts'
import { pause } from './until.ts'

const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { capabilities: { tools: {}, logging: {} } }
const SESSION = { sessionIdGenerator: () => 'session-1' }

const CLIENT_OPTIONS = {
  // So that the proxy sees one request a connection.
  requestInit: { headers: { connection: 'close' } },
  reconnectionOptions: {
    initialReconnectionDelay: 3,
    maxReconnectionDelay: 20,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: Infinity,
  },
}

export interface Served {
  readonly port: number
  /** Tells the client something that belongs to no request. */
  tell(text: string): Promise<void>
}

export interface Connected {
  /** What was told about a call (by its name), or about none (`''`), in the order of arrival. */
  readonly told: Map<string, string[]>
  readonly errors: string[]
  /** Has the tool count to `to`; the text of its result. */
  count(name: string, to: number): Promise<string>
}

/** What is waited for before a number is said; default a millisecond. */
export type Pace = (n: number) => Promise<void>

const steady: Pace = () => pause(1)

export interface Sdk {
  readonly name: string
  serve(store: EventStore, pace?: Pace): Promise<Served>
  connect(url: URL): Promise<Connected>
}

interface Counting {
  readonly name: string
  readonly to: number
}

const log = (data: string) => ({
  method: 'notifications/message' as const,
  params: { level: 'info' as const, data },
})

/** The tool: it says each number, in its time, and then that it is done. */
async function count(
  { name, to }: Counting,
  notify: (told: ReturnType<typeof log>) => Promise<void>,
  pace: Pace,
) {
  for (let n = 1; n <= to; n++) {
    await pace(n)
    await notify(log(`${name}:${n}`))
  }
  return { content: [{ type: 'text' as const, text: `${name} is done` }] }
}

interface Handler {
  handleRequest(req: IncomingMessage, res: ServerResponse): Promise<void>
}

async function listen(transport: Handler): Promise<number> {
  const server = createServer((req, res) => void transport.handleRequest(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  return (server.address() as AddressInfo).port
}

/** The clients' side that is the same for both. */
function listener() {
  const told = new Map<string, string[]>()
  const errors: string[] = []
  return {
    told,
    errors,
    hear({ params }: { params: { data?: unknown } }) {
      const [name = '', text = ''] = String(params.data).split(':')
      told.set(name, [...(told.get(name) ?? []), text])
    },
    onError: (error: Error) => void errors.push(String(error)),
  }
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

const NO_TIMEOUT = { timeout: 100_000 }

export const SDK_1: Sdk = {
  name: '@modelcontextprotocol/sdk 1.x',
  async serve(eventStore, pace = steady) {
    const server = new Server1(INFO, CAPABILITIES)
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { sendNotification }) =>
      count(params.arguments as unknown as Counting, sendNotification, pace),
    )
    const transport = new StreamableHTTPServerTransport({ ...SESSION, eventStore })
    await server.connect(transport as never)
    onTestFinished(() => server.close())
    return { port: await listen(transport), tell: (text) => server.notification(log(`:${text}`)) }
  },
  async connect(url) {
    const { told, errors, hear, onError } = listener()
    const client = new Client1(INFO)
    client.onerror = onError
    client.setNotificationHandler(LoggingMessageNotificationSchema, hear)
    await client.connect(new ClientTransport1(url, CLIENT_OPTIONS) as never)
    onTestFinished(() => client.close())
    return {
      told,
      errors,
      count: async (name, to) =>
        textOf(await client.callTool({ name: 'count', arguments: { name, to } }, undefined, NO_TIMEOUT)),
    }
  },
}

export const SDK_2: Sdk = {
  name: '@modelcontextprotocol/server 2.x',
  async serve(eventStore, pace = steady) {
    const server = new Server2(INFO, CAPABILITIES)
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
      count(params.arguments as unknown as Counting, mcpReq.notify, pace),
    )
    const transport = new NodeStreamableHTTPServerTransport({ ...SESSION, eventStore })
    await server.connect(transport)
    onTestFinished(() => server.close())
    return { port: await listen(transport), tell: (text) => server.notification(log(`:${text}`)) }
  },
  async connect(url) {
    const { told, errors, hear, onError } = listener()
    const client = new Client2(INFO)
    client.onerror = onError
    client.setNotificationHandler('notifications/message', hear)
    await client.connect(new ClientTransport2(url, CLIENT_OPTIONS))
    onTestFinished(() => client.close())
    return {
      told,
      errors,
      count: async (name, to) =>
        textOf(await client.callTool({ name: 'count', arguments: { name, to } }, NO_TIMEOUT)),
    }
  },
}
