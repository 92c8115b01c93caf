import { describe, expect, it } from 'vitest'
import { HandAgent, type Message } from '../support/acp-agent.ts'
import { JSON_HEADERS, scene } from '../support/acp-bridge.ts'
import { settle, until } from '../support/until.ts'

const prompt = (sessionId: string, id: unknown = 1) => ({
  id,
  method: 'session/prompt',
  params: { sessionId, prompt: [] },
})
const numbers = (count: number) => Array.from({ length: count }, (_, n) => `${n}`)

describe('an agent that floods', () => {
  it('waits for a client that reads, however small the ring', async () => {
    const { agent, begin } = await scene({ ringSize: 8 }).initialize()
    const { session, stream } = await begin()
    for (const text of numbers(5000)) agent.chunk(session, text)
    await stream.until(({ chunks }) => chunks.length === 5000)
    expect(stream.chunks).toEqual(numbers(5000))
    expect(stream.heard).toHaveLength(5000)
  })

  it('does not wait for one that does not, nor does anybody else', async () => {
    const { bridge, initialize } = scene({ ringSize: 64 })
    const { id, agent, begin } = await initialize()
    const { session, stream } = await begin()
    const stuck = await bridge.handleRequest(
      new Request('http://host/', {
        headers: { accept: 'text/event-stream', 'acp-connection-id': id, 'acp-session-id': 'stuck' },
      }),
    )
    expect(stuck.status).toBe(200)
    for (const text of numbers(2000)) {
      agent.chunk('stuck', text)
      agent.chunk(session, text)
    }
    await stream.until(({ chunks }) => chunks.length === 2000)
    expect(stream.chunks).toEqual(numbers(2000))
    await stuck.body?.cancel()
  })

  it('goes on while nobody is there: the ring keeps the last of it', async () => {
    const { agent, begin, get } = await scene({ ringSize: 10 }).initialize()
    const { session, stream } = await begin()
    stream.cut()
    await settle()
    for (const text of numbers(1000)) agent.chunk(session, text)
    await settle()
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.chunks).toEqual(numbers(1000).slice(-10))
  })

  it('ends a stream that may keep no more answers, and no other', async () => {
    const { diagnostics, initialize, bridge } = scene({ limits: { maxReplies: 4 } })
    const { agent, begin, post, get } = await initialize()
    const { session, stream } = await begin()
    const other = await get('other')
    stream.cut()
    await settle()
    for (let id = 1; id <= 5; id++) {
      await post(prompt(session, id))
      agent.answer({ id }, {})
    }
    await until(() => diagnostics.some(({ type }) => type === 'session_closed'))
    expect((await get(session, 0)).status).toBe(409)
    expect(bridge.stats()).toMatchObject({ connections: 1, sessions: 1 })
    agent.chunk('other', 'unharmed')
    await other.until(({ chunks }) => chunks.length > 0)
  })

  it('drops what is no message of JSON-RPC', async () => {
    const { diagnostics, initialize } = scene()
    const { agent, begin } = await initialize()
    const { session, stream } = await begin()
    for (const odd of [null, 7, 'text', [], [{ id: 1 }]]) agent.raw(odd)
    agent.say({ method: 'session/update', params: { sessionId: 'x'.repeat(2000) } })
    agent.chunk(session, 'still here')
    await stream.until(({ chunks }) => chunks.length > 0)
    expect(diagnostics.filter(({ type }) => type === 'message_dropped')).toHaveLength(6)
  })

  it('is told at once that nobody can answer what no stream can carry', async () => {
    const { agent, begin } = await scene({ limits: { maxSessions: 1 } }).initialize()
    await begin()
    agent.ask('one too many', 'p1')
    expect((await agent.hears('p1')).result).toEqual({ outcome: { outcome: 'cancelled' } })
  })

  it('hands out no session that no stream could carry', async () => {
    const { agent, begin, post } = await scene({ limits: { maxSessions: 1 } }).initialize()
    const { own } = await begin()
    await post({ id: 'second', method: 'session/new', params: {} })
    await own.until(({ messages }) => messages.some(({ id }) => id === 'second'))
    const error = { message: 'no stream can carry it' }
    expect(own.messages.at(-1)).toMatchObject({ id: 'second', error })
    expect(agent.of('session/new')).toHaveLength(2)
  })

  it.each(['', ' ', ' s', 's ', 'a\nb', 'a\0', 'naïve 日本', '\ud800', 's'.repeat(1025)])(
    'hands out no session %j, which no header could carry, and is told that nobody answers in it',
    async (odd) => {
      const { agent, begin, post, get } = await scene().initialize()
      const { own, stream, session } = await begin()
      await post({ id: 1, method: '_fork' })
      agent.answer({ id: 1 }, { sessionId: odd })
      await own.until(({ messages }) => messages.some(({ id }) => id === 1))
      expect(own.messages.at(-1)).toMatchObject({ error: { code: -32603 } })
      agent.ask(odd, 'p1')
      expect((await agent.hears('p1')).result).toEqual({ outcome: { outcome: 'cancelled' } })
      agent.chunk(session, 'unharmed')
      await stream.until(({ chunks }) => chunks.includes('unharmed'))
      expect((await get(undefined, own.cursor)).status).toBe(200)
    },
  )

  it.each(['s', 'two words', 'a,b;c="d"', 'né', '__proto__', 'constructor', 's'.repeat(1024)])(
    'may call a session %j',
    async (odd) => {
      const { agent, begin, post, get } = await scene().initialize()
      const { own } = await begin()
      await post({ id: 1, method: 'session/fork', params: { sessionId: odd } })
      await post({ id: 2, method: '_fork' })
      agent.answer({ id: 2 }, { sessionId: odd })
      await own.until(({ messages }) => messages.some(({ id }) => id === 2))
      expect(own.messages.at(-1)).toMatchObject({ result: { sessionId: odd } })
      agent.chunk(odd, 'heard')
      await (await get(odd)).until(({ chunks }) => chunks.includes('heard'))
    },
  )

  it('that answers what JSON cannot carry fails that request, and nothing else', async () => {
    const { agent, begin, post } = await scene().initialize()
    const { own, session, stream } = await begin()
    await post(prompt(session))
    await post({ id: 2, method: '_x' })
    agent.answer({ id: 1 }, { n: 1n })
    agent.answer({ id: 2 }, { n: 1n })
    agent.chunk(session, 'after')
    await stream.until(({ chunks }) => chunks.includes('after'))
    await own.until(({ messages }) => messages.some(({ id }) => id === 2))
    const error = { code: -32603, message: 'no stream can carry it' }
    expect(stream.messages[0]).toEqual({ jsonrpc: '2.0', id: 1, error })
    expect(own.messages.at(-1)).toEqual({ jsonrpc: '2.0', id: 2, error })
  })
})

describe('a client that floods', () => {
  it('may have so many messages of any kind waiting for an agent that does not read, and no more', async () => {
    const deaf = new HandAgent()
    let reads = () => {}
    const readable = deaf.stream.readable
    const writable = new WritableStream<Message>({
      write(message) {
        deaf.heard.push(message)
        if (message.method === 'initialize') return deaf.answer(message)
        return new Promise<void>((resolve) => {
          reads = resolve
        })
      },
    })
    const limits = { maxPendingRequests: 4 }
    const { request } = scene({ connectAgent: () => ({ readable, writable }), limits })
    const post = (id: string, message: Message) =>
      request(
        'POST',
        { ...JSON_HEADERS, ...(id && { 'acp-connection-id': id }) },
        JSON.stringify({ jsonrpc: '2.0', ...message }),
      )
    const id = (await post('', { id: 0, method: 'initialize' })).headers.get('acp-connection-id') as string
    deaf.say({ id: 'asked', method: '_ask' })
    const statuses: number[] = []
    const note = (message: Message) => post(id, message).then(({ status }) => statuses.push(status))
    for (let n = 0; n < 20; n++) void note({ method: '_note', params: { n } })
    await until(() => statuses.length === 16)
    await note({ id: 1, method: '_ask' })
    await note({ id: 'asked', result: {} })
    expect(new Set(statuses)).toEqual(new Set([429]))
    // As the agent reads, there is room again; what was refused was not taken for answered.
    for (let times = 0; times < 4; times++) {
      reads()
      await settle()
    }
    void note({ id: 'asked', result: {} })
    await deaf.hears('asked')
    expect(deaf.of('_note').map(({ params }) => params.n)).toEqual([0, 1, 2, 3])
  })

  it('gets its statuses and leaves nothing behind', async () => {
    const { bridge, initialize, request } = scene({ limits: { maxSessions: 4, maxPendingRequests: 8 } })
    const { id, post, get, agent } = await initialize()
    const statuses = new Set<number>()
    for (let n = 0; n < 300; n++) {
      statuses.add((await get(`s${n}`)).status)
      statuses.add(await post(prompt(`s${n}`, n)))
      statuses.add(await post(prompt('s0', `more ${n}`)))
      statuses.add(await post({ id: `q${n}`, result: {} }, `s${n}`))
      const headers = { ...JSON_HEADERS, 'acp-connection-id': id }
      statuses.add((await request('POST', headers, '{"jsonrpc": garbage')).status)
      statuses.add((await request('POST', headers, `[${n}]`)).status)
      statuses.add(
        (await request('GET', { accept: 'text/event-stream', 'acp-connection-id': `${id}${n}` })).status,
      )
    }
    expect([...statuses].sort()).toEqual([200, 202, 400, 404, 409, 429])
    expect(bridge.stats()).toEqual({ connections: 1, sessions: 4, streams: 4, pending: 8 })
    expect(agent.of('session/prompt')).toHaveLength(8)
  })
})

describe('many sessions', () => {
  it('are served beside many that are stuck, none of which ends', async () => {
    const { bridge, initialize } = scene({ ringSize: 32 })
    const lines: Awaited<ReturnType<typeof initialize>>[] = []
    while (lines.length < 20) lines.push(await initialize())
    const healthy: Awaited<ReturnType<(typeof lines)[0]['get']>>[] = []
    for (const [n, { id, get }] of lines.entries()) {
      for (let s = 0; s < 10; s++) {
        const headers = { accept: 'text/event-stream', 'acp-connection-id': id, 'acp-session-id': `s${s}` }
        // Whoever never reads its body is stuck.
        if ((n + s) % 10 === 0) await bridge.handleRequest(new Request('http://host/', { headers }))
        else healthy.push(await get(`s${s}`))
      }
    }
    for (let round = 0; round < 100; round++) {
      for (const { agent } of lines) for (let s = 0; s < 10; s++) agent.chunk(`s${s}`, `${round}`)
    }
    for (const stream of healthy) await stream.until(({ chunks }) => chunks.length === 100)
    expect(healthy.every(({ chunks }) => chunks.join() === numbers(100).join())).toBe(true)
    expect(bridge.stats()).toMatchObject({ connections: 20, sessions: 200, streams: 200 })
  })
})
