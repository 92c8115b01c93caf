import { type ClientApp, client } from '@agentclientprotocol/sdk'
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client'
import { createNodeHttpHandler } from '@agentclientprotocol/sdk/experimental/node'
import { AcpServer } from '@agentclientprotocol/sdk/experimental/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAcpBridge, createAcpHttpStream } from '../../src/acp/index.ts'
import { toNodeHandler } from '../../src/node/index.ts'
import { connected, type Message, scriptedAgent } from '../support/acp-agent.ts'
import { serve } from '../support/http-server.ts'
import { until } from '../support/until.ts'

/** The bridge over real HTTP. */
async function ours(): Promise<string> {
  const bridge = createAcpBridge({ connectAgent: () => connected(scriptedAgent()) })
  onTestFinished(() => bridge.close())
  const server = await serve(toNodeHandler(bridge.handleRequest), { readsBody: true })
  return server.url('/acp')
}

/** The SDK's own server over real HTTP. */
async function theirs(): Promise<string> {
  const acp = new AcpServer({ agent: scriptedAgent() })
  onTestFinished(() => acp.close())
  const handler = createNodeHttpHandler(acp)
  const server = await serve(
    (req, res) => {
      handler(req, res)
      return new Promise((resolve) => res.once('close', resolve))
    },
    { readsBody: true },
  )
  return server.url('/acp')
}

interface Heard {
  readonly app: ClientApp
  readonly log: Message[]
}

/** A client app that notes what reaches it, in order. */
function listening(): Heard {
  const log: Message[] = []
  const app = client()
    .onNotification('session/update', ({ params }) => {
      const { sessionId, update } = params as Message
      log.push(`${sessionId} ${update.content.text}`)
    })
    .onRequest('session/request_permission', ({ params }) => {
      log.push(['permission', params])
      return { outcome: { outcome: 'selected', optionId: 'yes' } }
    })
  return { app, log }
}

const prompt = (sessionId: string, text: string) => ({
  sessionId,
  prompt: [{ type: 'text' as const, text }],
})

/** Everything that a client does in its life. */
async function script(stream: Message): Promise<Message[]> {
  const { app, log } = listening()
  const connection = app.connect(stream)
  const { agent } = connection
  log.push(await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} }))
  const { sessionId } = await agent.request('session/new', { cwd: '/', mcpServers: [] })
  log.push(await agent.request('session/prompt', prompt(sessionId, '20')))
  log.push(await agent.request('session/prompt', prompt(sessionId, '0')))
  const load = { sessionId: 'earlier', cwd: '/', mcpServers: [] }
  const loaded = agent.request('session/load', load)
  // Its answer travels on another stream than what it loads.
  await Promise.all([loaded, until(() => log.includes('earlier old 2'), 'what was loaded')])
  const waiting = agent.request('session/prompt', prompt('earlier', 'wait'))
  await until(() => log.includes('earlier waiting'), 'the turn to begin')
  await agent.notify('session/cancel', { sessionId: 'earlier' })
  log.push(await waiting)
  log.push(await agent.request('session/close', { sessionId }))
  connection.close()
  await stream.writable.close()
  return log
}

describe('the official client', () => {
  it('hears from the bridge what it hears from the official server, in the same order', async () => {
    const expected = await script(createHttpStream(await theirs()))
    expect(expected).toContain('session-1 chunk 20')
    expect(await script(createHttpStream(await ours()))).toEqual(expected)
  })
})

describe('the client stream', () => {
  it('hears the same from either', async () => {
    const expected = await script(createHttpStream(await theirs()))
    expect(await script(createAcpHttpStream(await ours()))).toEqual(expected)
    expect(await script(createAcpHttpStream(await theirs()))).toEqual(expected)
  })
})
