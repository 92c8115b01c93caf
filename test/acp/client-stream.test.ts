import { describe, expect, it, onTestFinished } from 'vitest'
import { type AcpHttpStreamOptions, createAcpHttpStream } from '../../src/acp/index.ts'
import type { Message } from '../support/acp-agent.ts'
import { type Scene, scene } from '../support/acp-bridge.ts'
import { fakeClock } from '../support/http-surfaces.ts'
import { settle, until, within } from '../support/until.ts'

type Fetch = NonNullable<AcpHttpStreamOptions['fetch']>

/** What becomes of a request: handled by the bridge where it says nothing else. */
type Fate = (
  call: { method: string; headers: Headers; body: Message },
  handle: () => Promise<Response>,
) => Promise<Response>

interface Client {
  readonly read: Message[]
  /** What ended `readable`, `true` for an end in peace. */
  readonly outcome: () => unknown
  /** `POST initialize`, `GET s1 5`, `DELETE` in the order in which they were sent. */
  readonly sent: string[]
  say(message: Message): Promise<void>
  /** The n-th message that fits. */
  reads(condition: (message: Message) => boolean, times?: number): Promise<Message>
  close(): Promise<void>
  cancel(): Promise<void>
  fate: Fate | undefined
  begin(): Promise<string>
}

/** A client of a bridge in the same process. */
function clientOf({ bridge }: Pick<Scene, 'bridge'>, options: AcpHttpStreamOptions = {}): Client {
  const read: Message[] = []
  const sent: string[] = []
  let outcome: unknown
  const fetch: Fetch = async (url, init) => {
    const { method = 'GET', body, signal } = init
    const headers = new Headers(init.headers)
    const message = body ? JSON.parse(body as string) : {}
    const about = message.method ?? (message.id === undefined ? '' : `answer ${message.id}`)
    const cursor = headers.get('last-event-id')?.replace(/.*:/, '')
    const session = headers.get('acp-session-id') ?? 'own'
    sent.push([method, method === 'GET' ? `${session} ${cursor}` : about].join(' ').trim())
    signal?.throwIfAborted()
    const handle = () => bridge.handleRequest(new Request(url, init))
    return client.fate ? client.fate({ method, headers, body: message }, handle) : handle()
  }
  const stream = createAcpHttpStream('http://host/acp', { fetch, retryMs: 1, maxRetryMs: 5, ...options })
  const writer = stream.writable.getWriter()
  writer.closed.catch(() => {})
  const reader = stream.readable.getReader()
  const reading = (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      read.push(value)
    }
  })()
  reading.then(
    () => {
      outcome = true
    },
    (error) => {
      outcome = error
    },
  )
  onTestFinished(() => writer.abort().catch(() => {}))
  const client: Client = {
    read,
    sent,
    outcome: () => outcome,
    fate: undefined,
    say: (message) => writer.write({ jsonrpc: '2.0', ...message }),
    async reads(condition, times = 1) {
      await until(() => read.filter(condition).length >= times, `${condition} in ${JSON.stringify(read)}`)
      return read.filter(condition)[times - 1]
    },
    close: () => writer.close(),
    cancel: () => reader.cancel(),
    async begin() {
      await client.say({ id: 'i', method: 'initialize', params: { protocolVersion: 1 } })
      await client.say({ id: 'n', method: 'session/new', params: { cwd: '/', mcpServers: [] } })
      const { result } = await client.reads(({ id }) => id === 'n')
      await until(() => sent.some((one) => one.startsWith(`GET ${result.sessionId}`)))
      return result.sessionId
    },
  }
  return client
}

const prompt = (sessionId: string, id: unknown = 1) => ({
  id,
  method: 'session/prompt',
  params: { sessionId, prompt: [] },
})
const isChunk = ({ method }: Message) => method === 'session/update'
const isAnswer = (to: unknown) => (message: Message) => message.method === undefined && message.id === to
const texts = (messages: Message[]) =>
  messages.filter(isChunk).map(({ params }) => params.update.content.text)
/** GETs that can be cut, and that can be down. */
function cuttable(client: Client) {
  const live = new Set<AbortController>()
  const wires = {
    down: (_session: string | null): boolean => false,
    cut() {
      for (const one of live) one.abort(new Error('cut'))
      live.clear()
    },
  }
  client.fate = async ({ method, headers }, handle) => {
    if (method !== 'GET') return handle()
    if (wires.down(headers.get('acp-session-id'))) return reset()
    const response = await handle()
    if (!response.ok || !response.body) return response
    const { readable, writable } = new TransformStream()
    const wire = new AbortController()
    live.add(wire)
    response.body.pipeTo(writable, { signal: wire.signal }).catch(() => {})
    return new Response(readable, response)
  }
  return wires
}

const refused = () =>
  Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } }))
const reset = () =>
  Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } }))

/** A session whose agent has asked the question `p`, which the client has read. */
async function asked() {
  const found = scene()
  const client = clientOf(found)
  const session = await client.begin()
  const [agent] = found.agents
  agent?.ask(session, 'p')
  await client.reads(({ id }) => id === 'p')
  return { agent, client, session }
}

/** The bridge gets each POST, and the client loses the answers of the first so many. */
function answersCut(times: number): Fate {
  let cuts = times
  return async ({ method }, handle) => {
    const response = await handle()
    return method === 'POST' && cuts-- > 0 ? reset() : response
  }
}

describe('the client stream', () => {
  it('asks for each of its streams from its first message on', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    expect(client.sent).toEqual(['POST initialize', 'GET own 0', 'POST session/new', `GET ${session} 0`])
  })

  it('reads what was said before its GET came', async () => {
    const found = scene()
    const client = clientOf(found)
    await client.say({ id: 'i', method: 'initialize', params: {} })
    const [agent] = found.agents
    agent?.chunk('loaded', 'early')
    await settle()
    await client.say({ id: 1, method: 'session/load', params: { sessionId: 'loaded' } })
    await client.reads(isChunk)
    expect(texts(client.read)).toEqual(['early'])
  })

  it('resumes either stream behind what it has read', async () => {
    const found = scene()
    const client = clientOf(found)
    const wires = cuttable(client)
    const session = await client.begin()
    const [agent] = found.agents
    agent?.chunk(session, 'one')
    agent?.say({ method: '_own', params: { n: 1 } })
    await client.reads(isChunk)
    await client.reads(({ method }) => method === '_own')
    wires.cut()
    agent?.chunk(session, 'two')
    agent?.say({ method: '_own', params: { n: 2 } })
    await client.reads(isChunk, 2)
    await client.reads(({ method }) => method === '_own', 2)
    // The connection's cursor is behind the answer to `session/new`, too, which was 1 there.
    const again = client.sent.filter((one) => one.startsWith('GET')).slice(2)
    expect(again.sort()).toEqual(['GET own 2', `GET ${session} 1`])
    expect(texts(client.read)).toEqual(['one', 'two'])
  })

  it('answers a request that is made from inside a handler, though its reader waits for that', async () => {
    const { agent, client, session } = await asked()
    // Inside the handler of the permission, before it is answered:
    await client.say({ id: 9, method: 'session/set_mode', params: { sessionId: session, modeId: 'x' } })
    agent?.answer(await agent.hears('session/set_mode'))
    await client.reads(isAnswer(9))
  })

  it('reads on though nobody takes what it has read', async () => {
    const found = scene()
    const stream = createAcpHttpStream('http://host/', {
      fetch: (url, init) => found.bridge.handleRequest(new Request(url, init)),
    })
    const writer = stream.writable.getWriter()
    await writer.write({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} })
    const [agent] = found.agents
    for (let n = 0; n < 1000; n++) agent?.say({ method: '_n', params: { n } })
    await until(() => found.bridge.stats().streams === 1)
    await settle()
    await writer.close()
    const read: Message[] = []
    const reader = stream.readable.getReader()
    for (let one = await reader.read(); !one.done; one = await reader.read()) read.push(one.value)
    expect(read.slice(1).map(({ params }) => params.n)).toEqual(Array.from({ length: 1000 }, (_, n) => n))
  })

  it('drops an answer that comes twice, and a question that it has not answered yet', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    const [agent] = found.agents
    await client.say(prompt(session))
    agent?.ask(session, 'p')
    agent?.ask(session, 'p')
    agent?.answer({ id: 1 }, {})
    agent?.answer({ id: 1 }, {})
    agent?.chunk(session, 'end')
    await client.reads(isChunk)
    await client.reads(isAnswer(1))
    expect(client.read.filter(isAnswer(1))).toHaveLength(1)
    expect(client.read.filter(({ method }) => method === 'session/request_permission')).toHaveLength(1)
  })

  it.each([
    ['was refused', refused],
    ['was cut', reset],
    ['was answered 502', async () => new Response('bad gateway', { status: 502 })],
    ['was answered 429', async () => new Response('slow down', { status: 429 })],
  ])('sends a POST again that %s', async (_, fail) => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    let failures = 2
    client.fate = ({ method }, handle) => (method === 'POST' && failures-- > 0 ? fail() : handle())
    await client.say(prompt(session))
    await found.agents[0]?.hears('session/prompt')
    expect(client.sent.filter((one) => one === 'POST session/prompt')).toHaveLength(3)
  })

  it('runs a prompt once whose POST was cut in front of its 202', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    client.fate = answersCut(3)
    await client.say(prompt(session))
    await settle()
    expect(client.sent.filter((one) => one === 'POST session/prompt')).toHaveLength(4)
    expect(found.agents[0]?.of('session/prompt')).toHaveLength(1)
  })

  it('answers a question once whose POST was cut in front of its 202', async () => {
    const { agent, client } = await asked()
    client.fate = answersCut(2)
    await client.say({ id: 'p', result: {} })
    expect(client.sent.filter((one) => one === 'POST answer p')).toHaveLength(3)
    expect(agent?.of('p')).toHaveLength(1)
  })

  it('gives a POST up that is never answered, and sends it again', async () => {
    const found = scene()
    const client = clientOf(found, { connectTimeoutMs: 5 })
    const session = await client.begin()
    let silent = 1
    client.fate = ({ method }, handle) =>
      method === 'POST' && silent-- > 0 ? new Promise(() => {}) : handle()
    await client.say(prompt(session))
    expect(found.agents[0]?.of('session/prompt')).toHaveLength(1)
  })

  it('sends initialize again only where it surely reached nobody', async () => {
    const found = scene()
    const client = clientOf(found)
    let failures = 2
    client.fate = (_, handle) => (failures-- > 0 ? refused() : handle())
    await client.say({ id: 0, method: 'initialize', params: {} })
    expect(client.sent.filter((one) => one === 'POST initialize')).toHaveLength(3)

    const unlucky = clientOf(found)
    unlucky.fate = reset
    await expect(unlucky.say({ id: 0, method: 'initialize', params: {} })).rejects.toThrow('fetch failed')
    expect(unlucky.sent).toEqual(['POST initialize'])
    await until(() => unlucky.outcome() instanceof TypeError)
  })

  it.each([503, 500, 404])('fails where initialize is answered %i', async (status) => {
    const client = clientOf(scene())
    client.fate = async () => new Response('no', { status })
    await expect(client.say({ id: 0, method: 'initialize' })).rejects.toMatchObject({ status })
    expect(client.sent).toEqual(['POST initialize'])
  })

  it('fails where the first message is another one', async () => {
    const client = clientOf(scene())
    await expect(client.say({ id: 0, method: 'session/new' })).rejects.toThrow('initialize')
    expect(client.sent).toEqual([])
  })

  it('answers a request that the server refuses with an error, and goes on', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    await client.say({ id: 'x'.repeat(2000), method: '_x' })
    const { error } = await client.reads(({ id }) => `${id}`.length === 2000)
    expect(error).toMatchObject({ code: -32603, data: { status: 400, body: 'The id is too long' } })
    await client.say(prompt(session))
    await found.agents[0]?.hears('session/prompt')
  })

  it.each([
    [
      'a page that a gateway led to',
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    ],
    ['an event stream', () => new Response('', { headers: { 'content-type': 'text/event-stream' } })],
  ])('takes %s for a refusal: nobody has taken the message in', async (_, answer) => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    client.fate = async ({ method }, handle) => (method === 'POST' ? answer() : handle())
    await client.say(prompt(session))
    const { error } = await client.reads(isAnswer(1))
    expect(error).toMatchObject({ message: 'the server answered 200', data: { status: 200 } })
    await expect(client.say({ method: '_x' })).rejects.toMatchObject({ status: 200 })
  })

  it('is not held up by a session for which there is no room, so that it can make some', async () => {
    const found = scene({ limits: { maxSessions: 1 } })
    const client = clientOf(found)
    const session = await client.begin()
    await client.say({ id: 1, method: 'session/load', params: { sessionId: 'one too many' } })
    const { error } = await client.reads(isAnswer(1))
    expect(error).toMatchObject({ data: { status: 409, body: 'Too many sessions' } })
    await client.say({ id: 2, method: 'session/close', params: { sessionId: session } })
    found.agents[0]?.answer({ id: 2 })
    await client.reads(isAnswer(2))
    expect(client.outcome()).toBeUndefined()
  })

  it.each(['', ' s', 'a\nb', '日本'])('asks for no session %j, which no header can carry', async (odd) => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    const sent = client.sent.length
    await client.say({ id: 1, method: 'session/load', params: { sessionId: odd } })
    await client.say({ method: 'session/cancel', params: { sessionId: odd } })
    expect((await client.reads(isAnswer(1))).error.message).toBe('no stream can carry it')
    await client.say({ method: '_x' })
    found.agents[0]?.chunk(session, 'unharmed')
    await client.reads(isChunk)
    expect(client.sent.slice(sent)).toEqual(['POST _x'])
  })

  it('fails both ends where the connection is not known any more', async () => {
    const found = scene()
    const client = clientOf(found)
    await client.begin()
    // Another process, which the balancer found instead.
    client.fate = async () => new Response(null, { status: 404 })
    await expect(client.say({ id: 4, method: '_x' })).rejects.toMatchObject({ status: 404 })
    expect(client.outcome()).toMatchObject({ code: 'sse_http_error', status: 404 })
    await expect(client.say({ id: 5, method: '_x' })).rejects.toMatchObject({ status: 404 })
  })

  it('tells of a session that has expired, answers its requests, and leaves the others alone', async () => {
    const found = scene({ sessionGraceMs: 1000 })
    const client = clientOf(found)
    const wires = cuttable(client)
    const session = await client.begin()
    const [agent] = found.agents
    await client.say(prompt(session))
    await client.say(prompt('another', 2))
    await client.say({ id: 7, method: '_x', params: {} })
    await until(() => found.bridge.stats().streams === 3)
    const clock = fakeClock()
    wires.down = (id) => id === session
    wires.cut()
    await settle()
    await clock.pass(1100)
    wires.down = () => false
    await clock.pass(100)
    const told = await client.reads(({ method }) => method === '_resumable_bus/session_expired')
    expect(told.params).toEqual({ sessionId: session })
    const failed = await client.reads(isAnswer(1))
    expect(failed.error).toMatchObject({ data: { code: 'session_expired', sessionId: session } })
    agent?.answer({ id: 7 }, {})
    await client.reads(isAnswer(7))
    agent?.answer({ id: 2 }, {})
    await client.reads(isAnswer(2))
    expect(agent?.of('session/cancel')).toHaveLength(1)
    // It begins anew with the next request.
    await client.say({ id: 3, method: 'session/load', params: { sessionId: session } })
    agent?.chunk(session, 'loaded')
    await client.reads(isChunk)
  })

  it('goes on with a session whose request reached the bridge before its stream did', async () => {
    const found = scene({ sessionGraceMs: 1000 })
    const client = clientOf(found)
    const wires = cuttable(client)
    const session = await client.begin()
    const [agent] = found.agents
    agent?.chunk(session, 'before')
    await client.reads(isChunk)
    const clock = fakeClock()
    wires.down = () => true
    wires.cut()
    await settle()
    await clock.pass(1100)
    await client.say(prompt(session))
    agent?.chunk(session, 'behind')
    agent?.answer({ id: 1 }, {})
    wires.down = () => false
    await clock.pass(100)
    await client.reads(isAnswer(1))
    expect(texts(client.read)).toEqual(['before', 'behind'])
    expect(client.read.filter(({ method }) => `${method}`.startsWith('_resumable'))).toMatchObject([
      { method: '_resumable_bus/state_resync_required', params: { reason: 'epoch_reset' } },
    ])
  })

  it('ends in peace behind what the agent said last', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    const [agent] = found.agents
    await client.say(prompt(session))
    agent?.chunk(session, 'last words')
    agent?.exit()
    await until(() => client.outcome() !== undefined)
    expect(client.outcome()).toBe(true)
    expect(texts(client.read)).toEqual(['last words'])
    expect(client.read.find(isAnswer(1))).toMatchObject({ error: { message: 'the agent is gone' } })
  })

  it.each([
    ['a notification', { method: 'session/cancel', params: { sessionId: 's1' } }],
    ['an answer', { id: 'p', result: {} }],
    ['a request of the session', { id: 2, method: 'session/set_mode', params: { sessionId: 's1' } }],
    ['a request of none', { id: 2, method: '_x' }],
  ])('reads what the agent said last although %s came too late for it', async (_, message: Message) => {
    const found = scene()
    const client = clientOf(found)
    const wires = cuttable(client)
    const session = await client.begin()
    const [agent] = found.agents
    await client.say(prompt(session))
    agent?.ask(session, 'p')
    await client.reads(({ id }) => id === 'p')
    wires.down = () => true
    wires.cut()
    agent?.chunk(session, 'last words')
    agent?.exit()
    await until(() => found.bridge.stats().pending < 2, 'the agent to be gone')
    await client.say(message)
    wires.down = () => false
    await until(() => client.outcome() !== undefined)
    expect(client.outcome()).toBe(true)
    expect(texts(client.read)).toEqual(['last words'])
    expect(client.read.find(isAnswer(1))).toMatchObject({ error: { message: 'the agent is gone' } })
    if (message.id === 2) {
      const data = { status: 409, body: 'the agent is gone' }
      expect(client.read.find(isAnswer(2))).toMatchObject({ error: { data } })
    }
  })

  it('ends in peace as the bridge is closed, and answers what waits', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    await client.say(prompt(session))
    await until(() => found.bridge.stats().streams === 2, 'both streams')
    await found.bridge.close()
    await until(() => client.outcome() === true, 'the end')
    expect(client.read.at(-1)).toMatchObject({ id: 1, error: { data: { code: 'gone' } } })
  })

  it('closes the stream of a session that was closed, and asks for it no more', async () => {
    const found = scene()
    const client = clientOf(found)
    const session = await client.begin()
    const [agent] = found.agents
    await client.say({ id: 3, method: 'session/close', params: { sessionId: session } })
    agent?.answer({ id: 3 })
    await client.reads(isAnswer(3))
    await settle(20)
    expect(client.sent.filter((one) => one.startsWith(`GET ${session}`))).toHaveLength(1)
    expect(client.outcome()).toBeUndefined()
  })

  it.each(['close', 'cancel'] as const)(
    'tells the server as it is over (%s), and leaves nothing',
    async (how) => {
      const found = scene()
      const client = clientOf(found)
      await client.begin()
      await within(client[how](), 'the end')
      expect(client.sent.at(-1)).toBe('DELETE')
      await until(() => found.bridge.stats().connections === 0)
      await until(() => client.outcome() === true)
    },
  )

  it.each([
    ['a POST that is tried again', 'POST _x', refused],
    ['a POST that nobody answers', 'POST _x', () => new Promise<never>(() => {})],
    ['`initialize`', 'POST initialize', () => new Promise<never>(() => {})],
  ])('is aborted in the middle of %s, and tells the server', async (_, what, fate) => {
    const found = scene()
    const stream = createAcpHttpStream('http://host/acp', {
      fetch: (url, init) => {
        sent.push([init.method, init.body ? JSON.parse(init.body as string).method : ''].join(' '))
        return sent.at(-1) === what ? fate() : found.bridge.handleRequest(new Request(url, init))
      },
      retryMs: 1,
    })
    const sent: string[] = []
    const writer = stream.writable.getWriter()
    writer.closed.catch(() => {})
    for (const message of [
      { id: 0, method: 'initialize' },
      { id: 1, method: '_x' },
    ])
      writer.write({ jsonrpc: '2.0', ...message }).catch(() => {})
    await until(() => sent.includes(what))
    await within(writer.abort(), 'the end')
    expect(found.bridge.stats().connections).toBe(0)
    const reader = stream.readable.getReader()
    while (!(await reader.read()).done);
  })

  it('ends with its signal', async () => {
    const found = scene()
    const controller = new AbortController()
    const client = clientOf(found, { signal: controller.signal })
    await client.begin()
    controller.abort()
    await until(() => client.outcome() === true && found.bridge.stats().connections === 0)
    await expect(client.say({ method: '_x' })).rejects.toThrow('closed')
  })

  it('sends its headers with every request', async () => {
    const seen = new Set<string | null>()
    const found = scene({
      authorize(request) {
        seen.add(request.headers.get('authorization'))
        return 'ada'
      },
    })
    const client = clientOf(found, { headers: { authorization: 'Bearer x' } })
    await client.begin()
    await client.close()
    expect([...seen]).toEqual(['Bearer x'])
  })

  it.each([
    ['url', 7, {}],
    ['fetch', 'http://host/', { fetch: 1 }],
    ['headers', 'http://host/', { headers: 1 }],
    ['retryMs', 'http://host/', { retryMs: '1' }],
    ['maxRetries', 'http://host/', { maxRetries: null }],
    ['connectTimeoutMs', 'http://host/', { connectTimeoutMs: {} }],
    ['onRetry', 'http://host/', { onRetry: 1 }],
    ['signal', 'http://host/', { signal: {} }],
    ['options', 'http://host/', 7],
  ])('refuses a %s of a wrong type', (name, url, options) => {
    const make = () => createAcpHttpStream(url as never, options as never)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(new RegExp(`^${name} `))
  })

  it.each([
    ['url', '/secret', {}],
    ['url', 'http://user:secret@host/', {}],
    ['headers', 'http://host/', { headers: { authorization: 'Bearer secret\n' + 'x' } }],
  ])('refuses at the door a %s that the platform cannot send, without quoting it', (name, url, options) => {
    const make = () => createAcpHttpStream(url, options)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(name)
    expect(make).not.toThrow(/secret/)
  })

  it("leaves it to a fetch of the program's own what a URL may be", async () => {
    const urls: string[] = []
    const fetch = async (url: string) => {
      urls.push(url)
      return new Response(null, { status: 404 })
    }
    const writer = createAcpHttpStream('/acp', { fetch }).writable.getWriter()
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize' } as const
    await expect(writer.write(message)).rejects.toMatchObject({ status: 404 })
    expect(urls).toEqual(['/acp'])
  })
})
