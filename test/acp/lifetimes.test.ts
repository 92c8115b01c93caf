import { describe, expect, it } from 'vitest'
import { HandAgent } from '../support/acp-agent.ts'
import { JSON_HEADERS, scene } from '../support/acp-bridge.ts'
import { fakeClock } from '../support/http-surfaces.ts'
import { settle, until, within } from '../support/until.ts'

const prompt = (sessionId: string, id: unknown = 1) => ({
  id,
  method: 'session/prompt',
  params: { sessionId, prompt: [] },
})

/** A session with a running turn. */
async function turn(options = {}) {
  const found = scene(options)
  const line = await found.initialize()
  const begun = await line.begin()
  await line.post(prompt(begun.session))
  return { ...found, ...line, ...begun }
}

describe('a turn', () => {
  it('goes on while nobody is there: the old socket closes first, then the client comes back', async () => {
    const { agent, session, stream, get } = await turn()
    stream.cut()
    await settle()
    agent.chunk(session, 'into the gap')
    await settle()
    const again = await get(session, 0)
    expect(again.status).toBe(200)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.chunks).toEqual(['into the gap'])
    expect(agent.of('session/cancel')).toEqual([])
  })

  it('is cancelled, once, when the grace runs out', async () => {
    const clock = fakeClock()
    const { agent, session, stream, diagnostics, bridge, get } = await turn({ sessionGraceMs: 1000 })
    stream.cut()
    await settle()
    await clock.pass(999)
    expect(agent.of('session/cancel')).toEqual([])
    await clock.pass(1)
    expect(agent.of('session/cancel')).toMatchObject([{ params: { sessionId: session } }])
    expect(bridge.stats().sessions).toBe(0)
    await clock.pass(10_000)
    expect(agent.of('session/cancel')).toHaveLength(1)
    const told = diagnostics.map(({ type }) => type).filter((type) => type.startsWith('session_'))
    expect(told).toEqual(['session_expired', 'session_closed'])
    expect((await get(session, 1)).status).toBe(409)
  })

  it('is not cancelled where the client came back in time, however late a second cut comes', async () => {
    const clock = fakeClock()
    const { agent, session, stream, get } = await turn({ sessionGraceMs: 1000 })
    stream.cut()
    await settle()
    await clock.pass(900)
    const again = await get(session, 0)
    await clock.pass(5000)
    again.cut()
    await settle()
    await clock.pass(900)
    expect(agent.of('session/cancel')).toEqual([])
    await clock.pass(100)
    expect(agent.of('session/cancel')).toHaveLength(1)
  })

  it('is cancelled by `session/cancel`, which ends no stream', async () => {
    const { agent, session, stream, post } = await turn()
    expect(await post({ method: 'session/cancel', params: { sessionId: session } })).toBe(202)
    agent.answer({ id: 1 }, { stopReason: 'cancelled' })
    await stream.until(({ said }) => said.includes('answer 1'))
    expect([agent.of('session/cancel').length, stream.over]).toEqual([1, false])
  })

  it('is cancelled when the connection is deleted, and the agent is closed', async () => {
    const { agent, stream, own, remove, bridge } = await turn()
    expect(await remove()).toBe(202)
    expect(await remove()).toBe(404)
    await until(() => agent.closed)
    expect(agent.of('session/cancel')).toHaveLength(1)
    await until(() => stream.over && own.over)
    expect(bridge.stats()).toEqual({ connections: 0, sessions: 0, streams: 0, pending: 0 })
  })

  it('that has ended is not cancelled when its session goes', async () => {
    const { agent, stream, remove } = await turn()
    agent.answer({ id: 1 }, { stopReason: 'end_turn' })
    await stream.until(({ said }) => said.includes('answer 1'))
    await remove()
    await until(() => agent.closed)
    expect(agent.of('session/cancel')).toEqual([])
  })
})

describe('a session that has expired', () => {
  it('is not brought back by what the agent still says of it', async () => {
    const clock = fakeClock()
    const { agent, session, stream, get, bridge } = await turn({ sessionGraceMs: 1000 })
    stream.cut()
    await settle()
    await clock.pass(1000)
    agent.chunk(session, 'late')
    agent.ask(session, 'p1')
    agent.answer({ id: 1 }, { stopReason: 'cancelled' })
    expect((await agent.hears('p1')).result).toEqual({ outcome: { outcome: 'cancelled' } })
    expect(bridge.stats().sessions).toBe(0)
    expect((await get(session, 0)).status).toBe(409)
  })

  it('begins anew where a client begins it', async () => {
    const clock = fakeClock()
    const { agent, session, stream, get, post } = await turn({ sessionGraceMs: 1000 })
    stream.cut()
    await settle()
    await clock.pass(1000)
    await post({ id: 2, method: 'session/load', params: { sessionId: session } })
    const again = await get(session)
    expect(again.status).toBe(200)
    agent.chunk(session, 'loaded')
    await again.until(({ chunks }) => chunks.length > 0)
  })
})

describe('a session that is closed', () => {
  it('ends its stream behind the answer, which a client that missed it still gets', async () => {
    const { agent, session, stream, get, post } = await turn()
    await post({ id: 2, method: 'session/close', params: { sessionId: session } })
    agent.chunk(session, 'last words')
    agent.answer({ id: 2 }, {})
    await stream.until(({ over }) => over)
    expect(stream.heard.slice(0, 2)).toEqual(['1 session/update', 'answer 2'])
    const again = await get(session, 0)
    await again.until(({ over }) => over)
    expect(again.said).toContain('answer 2')
  })

  it('stays open where the agent refuses', async () => {
    const { agent, session, stream, post } = await turn()
    await post({ id: 2, method: 'session/close', params: { sessionId: session } })
    agent.say({ id: 2, error: { code: -32000, message: 'no' } })
    await stream.until(({ said }) => said.includes('answer 2'))
    agent.chunk(session, 'still here')
    await stream.until(({ chunks }) => chunks.length > 0)
  })
})

describe('a session whose stream nobody has asked for yet', () => {
  it('ends alone after its grace, and is there for whoever asks in time', async () => {
    const clock = fakeClock()
    const { initialize, bridge } = scene({ sessionGraceMs: 1000 })
    const { agent, get } = await initialize()
    await get()
    agent.chunk('left', 'x')
    agent.chunk('taken', 'y')
    await until(() => bridge.stats().sessions === 2)
    await clock.pass(999)
    const taken = await get('taken', 0)
    await clock.pass(60_000)
    expect(bridge.stats()).toMatchObject({ connections: 1, sessions: 1, streams: 2 })
    expect(taken.chunks).toEqual(['y'])
    expect((await get('left', 0)).status).toBe(409)
  })

  it('has the time of a connection where a session that lost its client has none', async () => {
    const clock = fakeClock()
    const { initialize, bridge } = scene({ sessionGraceMs: 0, connectionGraceMs: 1000 })
    const { agent, get } = await initialize()
    await get()
    agent.chunk('early', 'x')
    await until(() => bridge.stats().sessions === 1)
    await clock.pass(999)
    const early = await get('early', 0)
    await early.until(({ chunks }) => chunks.length === 1)
    early.cut()
    await until(() => bridge.stats().sessions === 0)
  })
})

describe('a connection', () => {
  it('whose GET never comes ends after its grace', async () => {
    const clock = fakeClock()
    const { initialize, bridge, diagnostics } = scene({ connectionGraceMs: 1000 })
    const { agent, post } = await initialize()
    await clock.pass(999)
    expect(bridge.stats().connections).toBe(1)
    await clock.pass(1)
    expect(bridge.stats().connections).toBe(0)
    expect(diagnostics.at(-1)).toMatchObject({ type: 'connection_closed', reason: 'expired' })
    await until(() => agent.closed)
    expect(await post({ method: '_x' })).toBe(404)
  })

  it('whose client left before it asked for the stream of its session ends behind that session’s grace', async () => {
    const clock = fakeClock()
    const found = scene({ connectionGraceMs: 1000, sessionGraceMs: 2000 })
    const { agent, get, post } = await found.initialize()
    const own = await get()
    await post({ id: 'n', method: 'session/new', params: {} })
    await own.until(({ messages }) => messages.length === 1)
    await post({ id: 'p', method: 'session/prompt', params: { sessionId: 's1' } })
    agent.ask('s1', 'q')
    await agent.hears('session/prompt')
    own.cut()
    await settle()
    await clock.pass(1999)
    expect(found.bridge.stats()).toMatchObject({ connections: 1, sessions: 1 })
    await clock.pass(1)
    expect(found.bridge.stats()).toMatchObject({ connections: 0, sessions: 0, pending: 0 })
    await until(() => agent.closed)
    expect(agent.of('session/cancel')).toHaveLength(1)
    expect(agent.of('q')).toMatchObject([{ result: { outcome: { outcome: 'cancelled' } } }])
    const ends = found.diagnostics.map(({ type }) => type).filter((type) => /expired|closed/.test(type))
    expect(ends).toEqual(['session_expired', 'session_closed', 'connection_closed'])
    expect(clock.timers).toBe(0)
  })

  it('whose agent takes its time for `initialize` has its grace behind the answer', async () => {
    const clock = fakeClock()
    const agent = new HandAgent({ answers: false })
    const { initialize, bridge } = scene({ connectAgent: () => agent.stream, connectionGraceMs: 1000 })
    const answered = initialize()
    const asked = await agent.hears('initialize')
    await clock.pass(60_000)
    agent.answer(asked, { protocolVersion: 1 })
    await answered
    await clock.pass(999)
    expect(bridge.stats().connections).toBe(1)
    await clock.pass(1)
    expect(bridge.stats().connections).toBe(0)
  })

  it('whose stream came back lives on', async () => {
    const clock = fakeClock()
    const { initialize, bridge } = scene({ connectionGraceMs: 1000 })
    const { get } = await initialize()
    const own = await get()
    own.cut()
    await settle()
    await clock.pass(900)
    await get()
    await clock.pass(60_000)
    expect(bridge.stats()).toMatchObject({ connections: 1, streams: 1 })
  })

  it('never takes a session with it that is in its own grace', async () => {
    const clock = fakeClock()
    const { own, stream, session, get, bridge, agent } = await turn({
      connectionGraceMs: 50,
      sessionGraceMs: 200,
    })
    own.cut()
    await settle()
    await clock.pass(10)
    stream.cut()
    await settle()
    await clock.pass(140)
    const again = await get(session, 0)
    expect(again.status).toBe(200)
    expect(agent.of('session/cancel')).toEqual([])
    await clock.pass(10_000)
    expect(bridge.stats().connections).toBe(1)
    again.cut()
    await settle()
    await clock.pass(200)
    expect(bridge.stats().connections).toBe(0)
    expect(agent.of('session/cancel')).toHaveLength(1)
  })

  it('ends no stream of its own but by DELETE, takeover, a stuck socket and the end of the bridge', async () => {
    const clock = fakeClock()
    const { own, stream } = await turn({ connectionGraceMs: 10, sessionGraceMs: 10 })
    stream.cut()
    await settle()
    await clock.pass(3_600_000)
    expect(own.over).toBe(false)
  })

  it('never answers a session GET 403, 404, 410 or 5xx, whatever became of the session', async () => {
    const clock = fakeClock()
    const { session, stream, post, agent, get } = await turn({
      sessionGraceMs: 1000,
      limits: { maxSessions: 2 },
    })
    const statuses = async () => [
      (await get('another')).status,
      (await get(session)).status,
      (await get(session, 1)).status,
      (await get('a third')).status,
      (await get('a third', 3)).status,
    ]
    const seen = [...(await statuses())]
    stream.cut()
    await post({ id: 9, method: 'session/close', params: { sessionId: session } })
    agent.answer({ id: 9 }, {})
    await settle()
    seen.push(...(await statuses()))
    await clock.pass(2000)
    seen.push(...(await statuses()))
    expect(seen.filter((status) => status !== 200 && status !== 409)).toEqual([])
  })

  it('whose agent is gone lets its client have what is left, then ends', async () => {
    const clock = fakeClock()
    const { agent, session, stream, own, get, post, bridge } = await turn({
      connectionGraceMs: 1000,
      sessionGraceMs: 1000,
    })
    stream.cut()
    await settle()
    agent.chunk(session, 'last words')
    agent.exit()
    await own.until(({ over }) => over)
    expect(own.messages.at(-1)).toMatchObject({ params: { code: 'gone' } })
    expect(await post(prompt(session, 2))).toBe(409)
    expect(await post({ method: 'session/cancel', params: { sessionId: session } })).toBe(202)
    expect(await post({ id: 'q', result: {} })).toBe(202)
    for (const cursor of [undefined, 0]) expect((await get('another', cursor)).status).toBe(409)
    const again = await get(session, 0)
    await again.until(({ over }) => over)
    expect(again.heard).toEqual([
      '1 session/update',
      ': replay_complete',
      'answer 1',
      '_resumable_bus/stream_error',
    ])
    expect(again.messages[1]).toMatchObject({ id: 1, error: { message: 'the agent is gone' } })
    await clock.pass(3000)
    expect(bridge.stats().connections).toBe(0)
  })
})

describe('the bridge', () => {
  it('ends every stream cleanly as it closes, and opens nothing any more', async () => {
    const { agent, own, stream, bridge, request } = await turn()
    await bridge.close()
    await until(() => own.over && stream.over && agent.closed)
    expect(own.messages.at(-1)).toMatchObject({
      method: '_resumable_bus/stream_error',
      params: { code: 'bridge_closed' },
    })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize' })
    expect((await request('POST', JSON_HEADERS, body)).status).toBe(503)
  })

  it('closes though an agent does not read, and keeps none of its POSTs waiting', async () => {
    const deaf = new HandAgent({ answers: false })
    let heard = 0
    const writable = new WritableStream({
      write(message) {
        heard++
        if (message.method === 'initialize') deaf.answer(message, {})
        else return new Promise(() => {})
        return undefined
      },
    })
    const connectAgent = () => ({ readable: deaf.stream.readable, writable })
    const { bridge, request } = scene({ connectAgent })
    const call = { jsonrpc: '2.0', id: 0, method: 'initialize' }
    const first = await request('POST', JSON_HEADERS, JSON.stringify(call))
    const headers = { ...JSON_HEADERS, 'acp-connection-id': first.headers.get('acp-connection-id') as string }
    const post = request('POST', headers, JSON.stringify({ ...call, id: 1, method: '_x' }))
    await until(() => heard === 2)
    await bridge.close()
    expect((await within(post, 'the POST to be answered')).status).toBe(404)
  })

  it('swallows what `onDiagnostic` throws', async () => {
    const { initialize } = scene({
      onDiagnostic() {
        throw new Error('mine')
      },
    })
    await (await initialize()).begin()
  })

  it('leaves no timer behind', async () => {
    const clock = fakeClock()
    const { own, stream, bridge } = await turn({ permissionTimeoutMs: 1000 })
    await bridge.close()
    await until(() => own.over && stream.over)
    await clock.pass(1000)
    expect(clock.timers).toBe(0)
  })
})
