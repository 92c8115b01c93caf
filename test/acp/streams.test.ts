import { describe, expect, it } from 'vitest'
import { scene } from '../support/acp-bridge.ts'
import { settle, until } from '../support/until.ts'

const prompt = (sessionId: string, id: unknown = 1) => ({
  id,
  method: 'session/prompt',
  params: { sessionId, prompt: [{ type: 'text', text: 'go' }] },
})

const line = async (options = {}) =>
  (await scene(options).initialize()) as Awaited<ReturnType<ReturnType<typeof scene>['initialize']>>

describe('a session stream', () => {
  it('has an id on notifications and on requests of the agent, and none on answers', async () => {
    const { agent, begin, post } = await line()
    const { session, stream } = await begin()
    expect(await post(prompt(session))).toBe(202)
    agent.chunk(session, 'a')
    agent.ask(session, 'p1')
    agent.answer({ id: 1 }, { stopReason: 'end_turn' })
    await stream.until(({ said }) => said.includes('cursor 3'))
    expect(stream.heard).toEqual(['1 session/update', '2 session/request_permission', 'answer 1'])
    expect(stream.cursor).toMatch(/^[\w-]+:3$/)
  })

  it('passes messages on as they are', async () => {
    const { agent, begin } = await line()
    const { session, stream } = await begin()
    const odd = { method: '_x/y', params: { sessionId: session, text: 'ä\u2028€', deep: [null, { id: 7 }] } }
    agent.say(odd)
    await stream.until(({ messages }) => messages.length > 0)
    expect(stream.messages).toEqual([{ jsonrpc: '2.0', ...odd }])
  })

  it('resumes behind the cursor that the client brings: each message once, and the end of it as a comment', async () => {
    const { agent, begin, get } = await line()
    const { session, stream } = await begin()
    for (const text of ['1', '2', '3']) agent.chunk(session, text)
    await stream.until(({ chunks }) => chunks.length === 3)
    stream.cut()
    agent.chunk(session, '4')
    await settle()
    const again = await get(session, stream.cursor?.replace(/3$/, '1'))
    await again.until(({ said }) => said.includes(': replay_complete'))
    agent.chunk(session, '5')
    await again.until(({ chunks }) => chunks.at(-1) === '5')
    expect(again.heard).toEqual([
      ...['2', '3', '4'].map((id) => `${id} session/update`),
      ': replay_complete',
      '5 session/update',
    ])
    expect(again.chunks).toEqual(['2', '3', '4', '5'])
  })

  it('takes a bare number for a cursor, too', async () => {
    const { agent, begin, get } = await line()
    const { session } = await begin()
    agent.chunk(session, '1')
    agent.chunk(session, '2')
    await settle()
    const again = await get(session, 1)
    await again.until(({ chunks }) => chunks.length > 0)
    expect(again.chunks).toEqual(['2'])
  })

  it('tells once, as a notification that names the session, what has left the ring', async () => {
    const { agent, begin, get } = await line({ ringSize: 2 })
    const { session, stream } = await begin()
    stream.cut()
    for (const text of ['1', '2', '3', '4']) agent.chunk(session, text)
    await settle()
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.heard).toEqual([
      '_resumable_bus/state_resync_required',
      '3 session/update',
      '4 session/update',
      ': replay_complete',
    ])
    expect(again.messages[0]).toMatchObject({
      jsonrpc: '2.0',
      params: { sessionId: session, reason: 'ring_evicted', lastDeliveredId: 0, earliestAvailableId: 3 },
    })
  })

  it('is live only, and says so, for a cursor that is none', async () => {
    const found = scene()
    const { agent, begin, get } = await found.initialize()
    const { session, stream } = await begin()
    agent.chunk(session, 'before')
    await stream.until(({ chunks }) => chunks.length > 0)
    const again = await get(session, '99999999999999999999')
    expect(again.status).toBe(200)
    agent.chunk(session, 'after')
    await again.until(({ chunks }) => chunks.length > 0)
    expect(again.heard).toEqual(['_resumable_bus/state_resync_required', '2 session/update'])
    expect(again.messages[0].params).toMatchObject({ sessionId: session, reason: 'invalid_cursor' })
    expect(found.diagnostics).toContainEqual(
      expect.objectContaining({ type: 'invalid_last_event_id', sessionId: session }),
    )
  })

  it('goes on without a cursor behind what the last one was sent', async () => {
    const { agent, begin, get } = await line()
    const { session, stream } = await begin()
    agent.chunk(session, '1')
    await stream.until(({ chunks }) => chunks.length === 1)
    stream.cut()
    await settle()
    agent.chunk(session, '2')
    agent.chunk(session, '3')
    const again = await get(session)
    await again.until(({ chunks }) => chunks.length === 2)
    expect(again.heard).toEqual(['2 session/update', '3 session/update'])
  })

  it('holds an answer until all that was said before it has gone out, and sends it again where it was not confirmed', async () => {
    const { agent, begin, get, post } = await line()
    const { session, stream } = await begin()
    await post(prompt(session))
    agent.chunk(session, '1')
    await stream.until(({ chunks }) => chunks.length === 1)
    stream.cut()
    await settle()
    agent.chunk(session, '2')
    agent.answer({ id: 1 }, { stopReason: 'end_turn' })
    const second = await get(session, 0)
    await second.until(({ said }) => said.includes('answer 1'))
    expect(second.heard.slice(0, 4)).toEqual([
      '1 session/update',
      '2 session/update',
      ': replay_complete',
      'answer 1',
    ])
    // It had not read that yet when it came back.
    const third = await get(session, 1)
    await third.until(({ said }) => said.at(-1) !== 'cursor 0' && said.at(-1)?.startsWith('cursor') === true)
    expect(third.said.filter((one) => one === 'answer 1')).toHaveLength(1)
    // With the cursor behind the answer it has it.
    third.cut()
    const fourth = await get(session, third.cursor)
    await fourth.until(({ said }) => said.includes(': replay_complete'))
    agent.chunk(session, '3')
    await fourth.until(({ chunks }) => chunks.length > 0)
    expect(fourth.said).not.toContain('answer 1')
  })

  it('is the newest GET: the one before is told and ends cleanly', async () => {
    const { agent, begin, get } = await line()
    const { session, stream } = await begin()
    const newer = await get(session)
    await stream.until(({ over }) => over)
    expect(stream.messages).toEqual([
      {
        jsonrpc: '2.0',
        method: '_resumable_bus/stream_error',
        params: { error: 'session_taken_over', code: 'session_taken_over' },
      },
    ])
    agent.chunk(session, '1')
    await newer.until(({ chunks }) => chunks.length > 0)
  })

  it('of a session that nobody knows is 200 for a client that begins', async () => {
    const { agent, get } = await line()
    const stream = await get('mine')
    expect(stream.status).toBe(200)
    agent.chunk('mine', 'hello')
    await stream.until(({ chunks }) => chunks.length > 0)
  })

  it('of a session that nobody knows any more is 409 for a client that comes back', async () => {
    const { get } = await line()
    expect((await get('mine', 'abc:7')).status).toBe(409)
  })

  it('is refused with 409, and nothing worse, past the sessions of a connection', async () => {
    const { get, post } = await line({ limits: { maxSessions: 2 } })
    for (const id of ['a', 'b']) expect((await get(id)).status).toBe(200)
    expect((await get('c')).status).toBe(409)
    expect((await get('a')).status).toBe(200)
    expect(await post(prompt('c'))).toBe(409)
  })

  it('carries what the agent says before anybody came for it', async () => {
    const { agent, get } = await line()
    agent.chunk('early', 'first')
    await settle()
    const stream = await get('early')
    await stream.until(({ chunks }) => chunks.length > 0)
    expect(stream.heard).toEqual(['1 session/update'])
  })

  it('is no other connection’s of the same name', async () => {
    const { initialize } = scene()
    const [one, other] = [await initialize(), await initialize()]
    const [mine, theirs] = [await one.get('same'), await other.get('same')]
    one.agent.chunk('same', 'for one')
    await mine.until(({ chunks }) => chunks.length > 0)
    other.agent.chunk('same', 'for the other')
    await theirs.until(({ chunks }) => chunks.length > 0)
    expect([mine.chunks, theirs.chunks]).toEqual([['for one'], ['for the other']])
  })
})

describe('the stream of a connection', () => {
  it('carries the answers to what names no session, and to `session/load`', async () => {
    const { agent, get, post } = await line()
    const own = await get()
    await post({ id: 1, method: 'session/list', params: {} })
    await post({ id: 2, method: 'session/load', params: { sessionId: 'old' } })
    agent.answer({ id: 1 }, {})
    agent.answer({ id: 2 }, {})
    await own.until(({ said }) => said.includes('answer 2'))
    expect(own.said.filter((one) => one.startsWith('answer'))).toEqual(['answer 1', 'answer 2'])
  })

  it('carries what the agent says without a session, and resumes', async () => {
    const { agent, get } = await line()
    const own = await get(undefined, 0)
    agent.say({ method: '_hello', params: {} })
    await own.until(({ messages }) => messages.length > 0)
    own.cut()
    agent.say({ method: '_again', params: {} })
    const again = await get(undefined, own.cursor)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.heard).toEqual(['2 _again', ': replay_complete'])
  })

  it('keeps what the agent says before the first GET', async () => {
    const { agent, get } = await line()
    agent.say({ method: '_hello', params: {} })
    await settle()
    const own = await get()
    await own.until(({ messages }) => messages.length > 0)
    expect(own.heard).toEqual(['1 _hello'])
  })

  it('carries no answer that nobody asked for, but what the agent could not read', async () => {
    const { agent, get } = await line()
    const own = await get()
    agent.answer({ id: 'nobody' }, {})
    agent.say({ id: null, error: { code: -32600, message: 'Invalid request' } })
    await own.until(({ messages }) => messages.length > 0)
    expect(own.messages).toMatchObject([{ id: null }])
  })
})

describe('an answer', () => {
  it('goes to the stream that its request came from', async () => {
    const { agent, begin, post, get } = await line()
    const { session, stream } = await begin()
    const other = await get('other')
    await post(prompt('other', 'n'))
    await post(prompt(session, 1))
    await post(prompt(session, '1'))
    agent.answer({ id: '1' }, { stopReason: 'a string' })
    agent.answer({ id: 'n' }, {})
    agent.answer({ id: 1 }, { stopReason: 'a number' })
    await stream.until(({ messages }) => messages.length === 2)
    await other.until(({ messages }) => messages.length === 1)
    expect(stream.messages.map(({ result }) => result.stopReason)).toEqual(['a string', 'a number'])
  })

  it('that names a session makes its stream, though nobody came for it yet', async () => {
    const found = scene()
    const { agent, post, get } = await found.initialize()
    await get()
    await post({ id: 1, method: 'session/new', params: {} })
    await agent.hears('session/new')
    await until(() => found.bridge.stats().sessions === 1)
  })
})

describe('a POST', () => {
  it('of the same request id is accepted again and run once, as a number is not the same as its text', async () => {
    const { agent, begin, post } = await line()
    const { session } = await begin()
    for (const id of [7, 7, '7', 7]) expect(await post(prompt(session, id))).toBe(202)
    await settle()
    expect(agent.of('session/prompt').map(({ id }) => id)).toEqual([7, '7'])
  })

  it('is still known when it was answered, until 256 others have followed', async () => {
    const { agent, begin, post } = await line()
    const { session } = await begin()
    const call = async (id: number) => {
      await post(prompt(session, id))
      agent.answer({ id }, {})
    }
    await call(1000)
    for (let id = 1; id < 256; id++) await call(id)
    await call(1000)
    expect(agent.of('session/prompt').filter(({ id }) => id === 1000)).toHaveLength(1)
    await call(256)
    await call(1000)
    expect(agent.of('session/prompt').filter(({ id }) => id === 1000)).toHaveLength(2)
  })

  it('is known on its own connection only', async () => {
    const { initialize } = scene()
    const [one, other] = [await initialize(), await initialize()]
    await one.post(prompt('s', 1))
    await other.post(prompt('s', 1))
    expect(other.agent.of('session/prompt')).toHaveLength(1)
  })

  it('is 429 past the requests that may wait, and taken once one was answered', async () => {
    const { agent, begin, post } = await line({ limits: { maxPendingRequests: 1 } })
    const { session, stream } = await begin()
    expect(await post(prompt(session, 1))).toBe(202)
    expect(await post(prompt(session, 2))).toBe(429)
    expect(await post({ method: 'session/cancel', params: { sessionId: session } })).toBe(202)
    agent.answer({ id: 1 }, {})
    await stream.until(({ said }) => said.includes('answer 1'))
    expect(await post(prompt(session, 2))).toBe(202)
    expect(agent.of('session/prompt').map(({ id }) => id)).toEqual([1, 2])
  })
})
