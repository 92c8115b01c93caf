import { describe, expect, it } from 'vitest'
import { scene } from '../support/acp-bridge.ts'
import { fakeClock } from '../support/http-surfaces.ts'
import { settle } from '../support/until.ts'

const CANCELLED = { outcome: { outcome: 'cancelled' } }
const CHOSEN = { outcome: { outcome: 'selected', optionId: 'yes' } }

describe('a permission request', () => {
  it('is asked again with the same ids while it waits', async () => {
    const { agent, begin, get } = await scene().initialize()
    const { session, stream } = await begin()
    agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.length === 1)
    const [asked] = stream.messages
    expect(asked).toMatchObject({ id: 'p1', params: { _meta: { requestId: 'permission-1' } } })
    stream.cut()
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.messages).toEqual([asked])
  })

  it('is not asked again once it was answered', async () => {
    const { agent, begin, get, post } = await scene().initialize()
    const { session, stream } = await begin()
    agent.chunk(session, 'before')
    agent.ask(session, 'p1')
    agent.chunk(session, 'behind')
    await stream.until(({ messages }) => messages.length === 3)
    stream.cut()
    expect(await post({ id: 'p1', result: CHOSEN }, session)).toBe(202)
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.heard).toEqual(['1 session/update', '3 session/update', ': replay_complete'])
  })

  it('is answered once: a second answer is accepted and reaches nobody', async () => {
    const { agent, begin, post } = await scene().initialize()
    const { session, stream } = await begin()
    agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.length === 1)
    for (let n = 0; n < 3; n++) expect(await post({ id: 'p1', result: CHOSEN }, session)).toBe(202)
    await settle()
    expect(agent.of('p1')).toEqual([{ jsonrpc: '2.0', id: 'p1', result: CHOSEN }])
  })

  it('of an id that was used before is a new one', async () => {
    const { agent, begin, get, post } = await scene().initialize()
    const { session, stream } = await begin()
    agent.ask(session, 0)
    await stream.until(({ messages }) => messages.length === 1)
    await post({ id: 0, result: CHOSEN }, session)
    agent.ask(session, 0)
    await stream.until(({ messages }) => messages.length === 2)
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.heard).toEqual(['2 session/request_permission', ': replay_complete'])
    await post({ id: 0, result: CANCELLED }, session)
    expect(agent.of(0).map(({ result }) => result)).toEqual([CHOSEN, CANCELLED])
  })

  it('that has left the ring before it was answered is asked again, behind the notification that says so', async () => {
    const { agent, begin, get, post } = await scene({ ringSize: 2 }).initialize()
    const { session, stream } = await begin()
    stream.cut()
    await settle()
    agent.ask(session, 'p1')
    for (const text of ['a', 'b', 'c']) agent.chunk(session, text)
    await settle()
    const again = await get(session, 0)
    await again.until(({ messages }) => messages.some(({ id }) => id === 'p1'))
    expect(again.heard[0]).toBe('_resumable_bus/state_resync_required')
    expect(again.heard.filter((one) => one.includes('permission'))).toHaveLength(1)
    await post({ id: 'p1', result: CHOSEN }, session)
    expect((await agent.hears('p1')).result).toEqual(CHOSEN)
  })

  it('is answered from its own session only', async () => {
    const { agent, begin, post } = await scene().initialize()
    const { session, stream } = await begin()
    agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.length === 1)
    expect(await post({ id: 'p1', result: CHOSEN })).toBe(400)
    expect(await post({ id: 'p1', result: CHOSEN }, 'another')).toBe(400)
    expect(agent.of('p1')).toEqual([])
    expect(await post({ id: 'p1', result: CHOSEN }, session)).toBe(202)
  })

  it('is answered from its own connection only', async () => {
    const { initialize } = scene()
    const [one, other] = [await initialize(), await initialize()]
    const { session, stream } = await one.begin()
    one.agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.length === 1)
    await other.post({ id: 'p1', result: CHOSEN }, session)
    await settle()
    expect([one.agent.of('p1'), other.agent.of('p1')]).toEqual([[], []])
  })

  it('waits for the client to come back instead of being denied', async () => {
    const { agent, begin, get, post } = await scene().initialize()
    const { session, stream } = await begin()
    stream.cut()
    await settle()
    agent.ask(session, 'p1')
    await settle()
    expect(agent.of('p1')).toEqual([])
    const again = await get(session)
    await again.until(({ messages }) => messages.length === 1)
    await post({ id: 'p1', result: CHOSEN }, session)
    expect((await agent.hears('p1')).result).toEqual(CHOSEN)
  })

  it('is cancelled for the agent when nobody answers in time, and taken back from the client', async () => {
    const clock = fakeClock()
    const found = scene({ permissionTimeoutMs: 5000 })
    const { agent, begin, get, post } = await found.initialize()
    const { session, stream } = await begin()
    agent.ask(session, 'p1')
    await stream.until(({ messages }) => messages.length === 1)
    await clock.pass(4999)
    expect(agent.of('p1')).toEqual([])
    await clock.pass(1)
    expect((await agent.hears('p1')).result).toEqual(CANCELLED)
    await stream.until(({ messages }) => messages.length === 2)
    expect(stream.messages[1]).toMatchObject({ method: '$/cancel_request', params: { requestId: 'p1' } })
    expect(found.diagnostics).toContainEqual(expect.objectContaining({ type: 'permission_timeout' }))
    expect(await post({ id: 'p1', result: CHOSEN }, session)).toBe(202)
    const again = await get(session, 0)
    await again.until(({ said }) => said.includes(': replay_complete'))
    expect(again.heard).toEqual(['2 $/cancel_request', ': replay_complete'])
    expect(agent.of('p1')).toHaveLength(1)
  })

  it('is cancelled for the agent when its session ends, and so is whatever else it asked', async () => {
    const clock = fakeClock()
    const { agent, begin } = await scene({ sessionGraceMs: 1000 }).initialize()
    const { session, stream } = await begin()
    agent.ask(session, 'p1')
    agent.say({ id: 'f1', method: 'fs/read_text_file', params: { sessionId: session, path: '/x' } })
    await stream.until(({ messages }) => messages.length === 2)
    stream.cut()
    await settle()
    await clock.pass(1000)
    expect((await agent.hears('p1')).result).toEqual(CANCELLED)
    expect((await agent.hears('f1')).error).toEqual({ code: -32800, message: 'Request cancelled' })
  })
})
