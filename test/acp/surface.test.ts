import { AcpServer } from '@agentclientprotocol/sdk/experimental/server'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type AcpBridgeOptions, type AgentContext, createAcpBridge } from '../../src/acp/index.ts'
import { HandAgent, scriptedAgent } from '../support/acp-agent.ts'
import { JSON_HEADERS, scene } from '../support/acp-bridge.ts'
import { settle, until, within } from '../support/until.ts'

const INITIALIZE = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: 1 } }

interface Odd {
  readonly name: string
  readonly method: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** Names the live connection. */
  readonly connected?: boolean
}

const prompt = (params: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'session/prompt', params })
const json = { ...JSON_HEADERS }
const stream = { accept: 'text/event-stream' }

const ODD: Odd[] = [
  { name: 'another method', method: 'PUT', body: '{}' },
  { name: 'a POST without a content type', method: 'POST', headers: { 'content-type': '' }, body: '{}' },
  { name: 'a POST of text', method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' },
  {
    name: 'a POST with a charset',
    method: 'POST',
    headers: { 'content-type': 'Application/JSON; charset=utf-8' },
    body: '[',
  },
  { name: 'no JSON', method: 'POST', headers: json, body: '{"jsonrpc"' },
  { name: 'an empty body', method: 'POST', headers: json, body: '' },
  {
    name: 'a batch',
    method: 'POST',
    headers: json,
    body: `[${JSON.stringify(INITIALIZE)}]`,
    connected: true,
  },
  { name: 'an empty batch', method: 'POST', headers: json, body: '[]' },
  { name: 'a number', method: 'POST', headers: json, body: '7' },
  { name: 'null', method: 'POST', headers: json, body: 'null' },
  { name: 'a call without a connection', method: 'POST', headers: json, body: prompt({ sessionId: 's' }) },
  {
    name: 'a second initialize',
    method: 'POST',
    headers: json,
    body: JSON.stringify(INITIALIZE),
    connected: true,
  },
  {
    name: 'initialize without a usable id',
    method: 'POST',
    headers: json,
    body: JSON.stringify({ ...INITIALIZE, id: null }),
  },
  {
    name: 'an unknown connection',
    method: 'POST',
    headers: { ...json, 'acp-connection-id': 'nobody' },
    body: prompt({}),
  },
  {
    name: 'a call of a session without its header',
    method: 'POST',
    headers: json,
    body: prompt({ sessionId: 's' }),
    connected: true,
  },
  {
    name: 'the same without params',
    method: 'POST',
    headers: json,
    body: prompt(undefined),
    connected: true,
  },
  {
    name: 'a header of another session',
    method: 'POST',
    headers: { ...json, 'acp-session-id': 't' },
    body: prompt({ sessionId: 's' }),
    connected: true,
  },
  {
    name: 'a session id without end',
    method: 'POST',
    headers: { ...json, 'acp-session-id': 's'.repeat(1025) },
    body: prompt({ sessionId: 's'.repeat(1025) }),
    connected: true,
  },
  {
    name: 'a request id without end',
    method: 'POST',
    headers: json,
    body: JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(1025), method: '_x' }),
    connected: true,
  },
  { name: 'a message that is none', method: 'POST', headers: json, body: '{"hello":1}', connected: true },
  {
    name: 'an answer to nothing',
    method: 'POST',
    headers: json,
    body: '{"jsonrpc":"2.0","id":77,"result":{}}',
    connected: true,
  },
  {
    name: 'a notification',
    method: 'POST',
    headers: json,
    body: '{"jsonrpc":"2.0","method":"_note"}',
    connected: true,
  },
  {
    name: 'a GET that takes no stream',
    method: 'GET',
    headers: { accept: 'application/json' },
    connected: true,
  },
  { name: 'a GET without accept', method: 'GET', connected: true },
  { name: 'a GET without a connection', method: 'GET', headers: stream },
  {
    name: 'a GET of an unknown connection',
    method: 'GET',
    headers: { ...stream, 'acp-connection-id': 'nobody' },
  },
  {
    name: 'a GET that is to be a WebSocket',
    method: 'GET',
    headers: { ...stream, upgrade: 'websocket' },
    connected: true,
  },
  {
    name: 'a GET of a session id without end',
    method: 'GET',
    headers: { ...stream, 'acp-session-id': 's'.repeat(1025) },
    connected: true,
  },
  { name: 'a DELETE without a connection', method: 'DELETE' },
  { name: 'a DELETE of an unknown connection', method: 'DELETE', headers: { 'acp-connection-id': 'nobody' } },
  { name: 'a DELETE', method: 'DELETE', connected: true },
]

/** The status that a handler has for it, and the body of a JSON answer. */
async function answerTo(handle: (request: Request) => Promise<Response>, odd: Odd) {
  const url = 'http://host/acp'
  const first = await handle(
    new Request(url, { method: 'POST', headers: json, body: JSON.stringify(INITIALIZE) }),
  )
  const id = first.headers.get('acp-connection-id') as string
  const headers = { ...odd.headers, ...(odd.connected && { 'acp-connection-id': id }) }
  const { method, body } = odd
  const response = await handle(new Request(url, { method, headers, ...(body !== undefined && { body }) }))
  const isJson = response.headers.get('content-type') === 'application/json'
  return { status: response.status, ...(isJson && { json: await response.json() }) }
}

describe('the surface', () => {
  it.each(ODD)('answers $name as the official server does', async (odd) => {
    const official = new AcpServer({ agent: scriptedAgent() })
    // It says what it thinks of some of these.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => {
      vi.restoreAllMocks()
    })
    const { bridge } = scene()
    onTestFinished(() => official.close())
    const expected = await answerTo((request) => official.handleRequest(request), odd)
    const actual = await answerTo((request) => bridge.handleRequest(request), odd)
    expect(actual.status).toBe(expected.status)
    if (expected.json) expect(actual.json).toMatchObject({ id: null, error: { code: -32600 } })
  })

  it('names the methods that it has', async () => {
    const response = await scene().request('PATCH', {}, '{}')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE'])
  })

  it('refuses a body past its bound, with or without a declared length', async () => {
    const { request, agents } = scene({ limits: { maxBodyBytes: 100 } })
    const body = JSON.stringify({ ...INITIALIZE, params: { filler: 'x'.repeat(100) } })
    const streamed = () => new Response(body).body as ReadableStream
    expect((await request('POST', { ...json, 'content-length': `${body.length}` }, body)).status).toBe(413)
    const init = { method: 'POST', headers: json, body: streamed(), duplex: 'half' } as RequestInit
    const { bridge } = scene({ limits: { maxBodyBytes: 100 } })
    expect((await bridge.handleRequest(new Request('http://host/', init))).status).toBe(413)
    expect(agents).toEqual([])
  })

  it('refuses broken UTF-8', async () => {
    const { request } = scene()
    const body = Uint8Array.from([...Buffer.from('{"jsonrpc":"2.0","id":"'), 0xff, ...Buffer.from('"}')])
    expect((await request('POST', json, body)).status).toBe(400)
  })

  it.each([
    ['reads', (request: Request) => request.text()],
    ['holds', (request: Request) => request.body?.getReader()],
  ])('finds no JSON in a body that `authorize` %s', async (_, takes) => {
    const { request } = scene({
      async authorize(given) {
        await takes(given)
        return true
      },
    })
    expect((await request('POST', json, JSON.stringify(INITIALIZE))).status).toBe(400)
  })

  it('answers initialize itself, and gives the connection an id that nobody can guess', async () => {
    const { request } = scene()
    const response = await request('POST', json, JSON.stringify(INITIALIZE))
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 0, result: { protocolVersion: 1 } })
    expect(response.headers.get('acp-connection-id')).toMatch(/^[0-9a-f]{32}$/)
  })

  it.each([
    ['throws', () => Promise.reject(new Error('secret path'))],
    ['is no pair of streams', () => ({}) as never],
    [
      'says nothing and ends',
      () => {
        const agent = new HandAgent({ answers: false })
        agent.exit()
        return agent.stream
      },
    ],
  ])('fails initialize alone where the agent %s, and says no word of why', async (_, connectAgent) => {
    const { request, bridge } = scene({ connectAgent })
    const response = await request('POST', json, JSON.stringify(INITIALIZE))
    expect(response.status).toBe(500)
    const error = { code: -32603, message: 'Initialize failed' }
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 0, error })
    expect(bridge.stats().connections).toBe(0)
  })

  it('gives up an agent whose client does not wait for it', async () => {
    const agent = new HandAgent({ answers: false })
    let signal: AbortSignal | undefined
    const { bridge } = scene({
      connectAgent(context) {
        signal = context.signal
        return agent.stream
      },
    })
    const abort = new AbortController()
    const init = { method: 'POST', headers: json, body: JSON.stringify(INITIALIZE), signal: abort.signal }
    const answered = bridge.handleRequest(new Request('http://host/', init))
    await agent.hears('initialize')
    abort.abort()
    await within(answered, 'the answer')
    expect([bridge.stats().connections, agent.closed, signal?.aborted]).toEqual([0, true, true])
  })

  describe('whose agent is still being made', () => {
    /** One request of `initialize`, whose agent comes when it is told to, and a client that may leave. */
    async function beginning(options: Partial<AcpBridgeOptions> = {}) {
      const agent = new HandAgent()
      let context: AgentContext | undefined
      let come!: () => void
      const { bridge, diagnostics } = scene({
        connectAgent(given) {
          context = given
          return new Promise((resolve) => {
            come = () => resolve(agent.stream)
          })
        },
        ...options,
      })
      const client = new AbortController()
      const init = { method: 'POST', headers: json, body: JSON.stringify(INITIALIZE), signal: client.signal }
      const answered = bridge.handleRequest(new Request('http://host/', init))
      await until(() => context !== undefined)
      return { agent, bridge, diagnostics, client, answered, signal: context?.signal, come }
    }

    it.each([
      ['the bridge closes', ({ bridge }: Beginning) => bridge.close()],
      ['its client leaves', ({ client }: Beginning) => client.abort()],
    ])('is answered as %s, tells the agent so, and closes one that comes yet', async (_, happens) => {
      const found = await beginning()
      await happens(found)
      expect((await within(found.answered, 'the answer')).status).toBe(500)
      expect(found.signal?.aborted).toBe(true)
      found.come()
      await until(() => found.agent.closed)
      expect(found.agent.heard).toEqual([])
      expect(found.bridge.stats().connections).toBe(0)
    })

    it('takes a place, and gives it back as its client leaves', async () => {
      const { bridge, client, answered } = await beginning({ limits: { maxConnections: 1 } })
      const again = () =>
        bridge.handleRequest(
          new Request('http://host/', { method: 'POST', headers: json, body: JSON.stringify(INITIALIZE) }),
        )
      expect((await again()).status).toBe(503)
      client.abort()
      await within(answered, 'the answer')
      const next = again()
      await settle()
      await bridge.close()
      expect((await within(next, 'the answer')).status).toBe(500)
    })

    type Beginning = Awaited<ReturnType<typeof beginning>>
  })

  it('makes no agent for a client that left while it was being let in', async () => {
    const client = new AbortController()
    const { bridge, agents } = scene({
      authorize() {
        client.abort()
        return true
      },
    })
    const init = { method: 'POST', headers: json, body: JSON.stringify(INITIALIZE), signal: client.signal }
    await bridge.handleRequest(new Request('http://host/', init))
    expect(agents).toEqual([])
  })

  it('has room for so many connections, and for one more after one has left', async () => {
    const { initialize, request } = scene({ limits: { maxConnections: 2 } })
    const line = await initialize()
    await initialize()
    const refused = await request('POST', json, JSON.stringify(INITIALIZE))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '15'])
    expect(await line.remove()).toBe(202)
    await initialize()
  })
})

describe('authorize', () => {
  it('sees each request before anything else', async () => {
    const seen: string[] = []
    const { request } = scene({
      authorize(request) {
        seen.push(request.method)
        return false
      },
    })
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      expect((await request(method)).status, method).toBe(401)
    }
    expect((await request('POST', {}, 'no JSON')).status).toBe(401)
    expect(seen).toEqual(['GET', 'PUT', 'DELETE', 'OPTIONS', 'POST'])
  })

  it.each([
    ['true', () => true, 200],
    ['a promise of a name', async () => 'ada', 200],
    ['false', () => false, 401],
    ['nothing', () => undefined as never, 401],
    ['the name of nobody', () => '', 401],
    ['a throw', () => Promise.reject(new Error('down')), 401],
    ['a response', () => new Response('no', { status: 429 }), 429],
  ])('says %s', async (_, authorize, status) => {
    const { request } = scene({ authorize })
    expect((await request('POST', json, JSON.stringify(INITIALIZE))).status).toBe(status)
  })

  it('keeps a connection from everybody but its owner', async () => {
    const { initialize, request } = scene({ authorize: (request) => request.headers.get('who') ?? false })
    const { id } = await initialize({ who: 'ada' })
    const headers = { ...json, ...stream, 'acp-connection-id': id, who: 'eve' }
    expect((await request('GET', headers)).status).toBe(404)
    expect((await request('POST', headers, '{"jsonrpc":"2.0","method":"_x"}')).status).toBe(404)
    expect((await request('DELETE', headers)).status).toBe(404)
    expect((await request('DELETE', { ...headers, who: 'ada' })).status).toBe(202)
  })

  it('tells the agent who it is', async () => {
    let owner: unknown
    const { initialize } = scene({
      authorize: () => 'ada',
      connectAgent(context) {
        owner = context.owner
        const agent = new HandAgent()
        return agent.stream
      },
    })
    await initialize().catch(() => {})
    expect(owner).toBe('ada')
  })
})

describe('the options', () => {
  const connectAgent = () => new HandAgent().stream

  it.each([
    ['connectAgent', undefined],
    ['connectAgent', 7],
    ['authorize', 'yes'],
    ['sessionGraceMs', '1'],
    ['connectionGraceMs', null],
    ['ringSize', '8'],
    ['limits', 3],
    ['heartbeatMs', null],
    ['permissionTimeoutMs', {}],
    ['onDiagnostic', 1],
  ])('refuse a %s of a wrong type', (name, value) => {
    const options = { connectAgent, [name]: value } as never
    expect(() => createAcpBridge(options)).toThrow(new RegExp(`^${name} must be`))
    expect(() => createAcpBridge(options)).toThrow(TypeError)
  })

  it.each([
    ['sessionGraceMs', -1],
    ['connectionGraceMs', Number.NaN],
    ['ringSize', 1.5],
    ['heartbeatMs', -5],
    ['permissionTimeoutMs', -1],
  ])('refuse a %s out of its domain', (name, value) => {
    expect(() => createAcpBridge({ connectAgent, [name]: value })).toThrow(RangeError)
  })

  it.each(['maxConnections', 'maxSessions', 'maxPendingRequests', 'maxBodyBytes', 'maxReplyBytes'])(
    'refuse a %s below 1',
    (name) => {
      expect(() => createAcpBridge({ connectAgent, limits: { [name]: 0 } })).toThrow(
        new RegExp(`^${name} must`),
      )
    },
  )
})
