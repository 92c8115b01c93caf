import { describe, expect, it } from 'vitest'
import { HandAgent, type Message, permission, update } from '../support/acp-agent.ts'
import { JSON_HEADERS, scene } from '../support/acp-bridge.ts'
import { settle, until } from '../support/until.ts'

const big = (sessionId: string) => ({ sessionId, update: { ...update(sessionId, '').update, n: 1n } })

describe.each([4096, Infinity])('with %d bytes to keep for replay', (maxRingBytes) => {
  const limits = { maxRingBytes }

  it('what was said is replayed as it was, before and after a cut', async () => {
    const { agent, begin, get } = await scene({ limits }).initialize()
    const { session, stream } = await begin()
    agent.chunk(session, 'één')
    agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.length === 2)
    stream.cut()
    await settle()
    agent.chunk(session, '“two”')
    for (const cursor of [0, 0, 0]) {
      const again = await get(session, cursor)
      await again.until(({ said }) => said.includes(': replay_complete'))
      expect(again.messages).toEqual([
        { jsonrpc: '2.0', method: 'session/update', params: update(session, 'één') },
        { jsonrpc: '2.0', id: 'p1', method: 'session/request_permission', params: permission(session) },
        { jsonrpc: '2.0', method: 'session/update', params: update(session, '“two”') },
      ])
    }
  })

  it('what JSON cannot carry is lost alone, live and replayed, and the agent is answered for it', async () => {
    const { agent, begin, get } = await scene({ limits }).initialize()
    const { session, stream } = await begin()
    agent.chunk(session, 'before')
    agent.say({ method: 'session/update', params: big(session) })
    agent.chunk(session, 'after')
    await stream.until(({ chunks }) => chunks.includes('after'))
    expect(stream.chunks.filter((text) => text !== '')).toEqual(['before', 'after'])
    stream.cut()
    await settle()
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.chunks).toEqual(['before', 'after'])
  })
})

describe('a question that no ring can keep', () => {
  it('is asked again as long as nobody has answered it, and reaches the agent answered once', async () => {
    const { agent, begin, get, post } = await scene({ limits: { maxRingBytes: 64 } }).initialize()
    const { session, stream } = await begin()
    agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.some(({ id }) => id === 'p1'))
    stream.cut()
    await settle()
    for (let times = 0; times < 3; times++) {
      const again = await get(session, 0)
      await again.until(({ messages }) => messages.some(({ id }) => id === 'p1'))
      await settle()
      expect(again.messages.filter(({ id }) => id === 'p1')).toHaveLength(1)
    }
    const result = { outcome: { outcome: 'selected', optionId: 'yes' } }
    expect(await post({ id: 'p1', result }, session)).toBe(202)
    expect(await post({ id: 'p1', result }, session)).toBe(202)
    await agent.hears('p1')
    await settle()
    expect(agent.of('p1')).toHaveLength(1)
    const last = await get(session, 0)
    await last.until(({ said }) => said.includes(': replay_complete'))
    expect(last.messages.filter(({ id }) => id === 'p1')).toEqual([])
  })
})

describe('an agent of two connections', () => {
  it('answers each where it asked, though ids, sessions and questions are the same', async () => {
    const found = scene()
    const lines = [await found.initialize(), await found.initialize()]
    const streams = [await lines[0]?.begin(), await lines[1]?.begin()]
    for (const [n, { agent }] of lines.entries()) {
      agent.chunk('s1', `of ${n}`)
      agent.ask('s1', 'same')
    }
    await until(() => streams.every((one) => one?.stream.messages.length === 2))
    expect(streams.map((one) => one?.stream.chunks)).toEqual([['of 0'], ['of 1']])
    await lines[1]?.post({ id: 'same', result: { outcome: { outcome: 'cancelled' } } }, 's1')
    await lines[1]?.agent.hears('same')
    await settle()
    expect(lines[0]?.agent.of('same')).toEqual([])
  })
})

describe('an agent that takes nothing any more', () => {
  it('fails each request, and is listened to as long as it says something', async () => {
    const agent = new HandAgent()
    const { readable } = agent.stream
    const writable = new WritableStream<Message>({
      write(message) {
        if (message.method === '_x') throw new Error('EPIPE')
        agent.heard.push(message)
        agent.answer(message)
      },
    })
    const { request, bridge } = scene({ connectAgent: () => ({ readable, writable }) })
    const send = (message: Message, headers = {}) =>
      request('POST', { ...JSON_HEADERS, ...headers }, JSON.stringify({ jsonrpc: '2.0', ...message }))
    const id = (await send({ id: 0, method: 'initialize' })).headers.get('acp-connection-id') as string
    const line = { 'acp-connection-id': id }
    expect((await send({ id: 1, method: '_x' }, line)).status).toBe(409)
    expect((await send({ id: 2, method: '_y' }, line)).status).toBe(409)
    expect((await send({ method: '_note' }, line)).status).toBe(202)
    expect(bridge.stats().pending).toBe(0)
    agent.say({ method: '_last' })
    agent.exit()
    const own = await request('GET', { ...line, accept: 'text/event-stream' })
    expect(await own.text()).toContain('"_last"')
  })
})

describe('cuts on cuts', () => {
  it('of which each GET is cut in turn before it is read lose nothing, and the last one has it all', async () => {
    const { agent, begin, get } = await scene().initialize()
    const { session, stream } = await begin()
    stream.cut()
    for (let n = 1; n <= 20; n++) {
      agent.chunk(session, `${n}`)
      const one = await get(session, 0)
      if (n % 2 === 0) one.cut()
    }
    const last = await get(session, 0)
    await last.until(({ said }) => said.includes(': replay_complete'))
    expect(last.chunks).toEqual(Array.from({ length: 20 }, (_, n) => `${n + 1}`))
  })
})
