import { describe, expect, it } from 'vitest'
import { SessionRegistry } from '../../src/session/index.ts'
import { busWith } from '../support/bus.ts'
import { flushed, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

/** JSON of so many bytes. */
const sized = (bytes: number) => 'x'.repeat(bytes - 2)

describe('what a session keeps of replies', () => {
  it('is bounded: one too many that no transport took closes the session with a reason', () => {
    const scene = new Scene({ limits: { maxReplies: 2 } })
    expect(scene.session.reply('R1')).toBe(true)
    expect(scene.session.reply('R2')).toBe(true)
    expect(scene.session.reply('R3')).toBe(false)
    expect(scene.session.state).toBe('closed')
    expect(scene.hooks).toEqual(['close reply_limit_exceeded'])
    expect(scene.session.reply('R4')).toBe(false)
  })

  it('is bounded in bytes of JSON as UTF-8', () => {
    const scene = new Scene({ limits: { maxReplyBytes: 10 } })
    expect(scene.session.reply('äö')).toBe(true)
    expect(scene.session.reply('12')).toBe(true)
    expect(scene.session.reply(1)).toBe(false)
    expect(scene.hooks).toEqual(['close reply_limit_exceeded'])
  })

  it('tells the transport why it closes', async () => {
    const scene = new Scene({ limits: { maxReplies: 1 } })
    const transport = new FakeTransport({ held: true })
    await scene.attach(undefined, transport)
    await scene.reply('R1', 'R2')
    expect(transport.closes).toEqual(['reply_limit_exceeded'])
  })

  it('drops those that a transport took first, oldest first', async () => {
    const scene = new Scene({ limits: { maxReplies: 2 } })
    await scene.attach()
    await scene.reply('R1', 'R2')
    await scene.reply('R3')
    expect(scene.session.state).toBe('attached')
    expect((await scene.attach({ lastEventId: 0 })).shown).toEqual(['replay_complete', 'R2', 'R3'])
  })

  it('drops those that were taken though they are to be sent again', async () => {
    const scene = new Scene({ limits: { maxReplies: 2 } })
    await scene.attach()
    await scene.reply('R1', 'R2')
    const held = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 0 }, held)
    await scene.reply('R3')
    held.open()
    await flushed()
    expect(held.shown).toEqual(['replay_complete', 'R2', 'R3'])
    expect(scene.session.state).toBe('attached')
  })

  it('is freed by a cursor that confirms', async () => {
    const scene = new Scene({ limits: { maxReplies: 1 } })
    await scene.attach()
    await scene.reply('R1')
    await scene.attach({ lastEventId: 1 })
    await scene.reply('R2')
    expect((await scene.attach({ lastEventId: 0 })).shown).toEqual(['replay_complete', 'R2'])
  })

  it('does not count events: those are the ring’s', async () => {
    const scene = new Scene({ limits: { maxReplies: 1, maxReplyBytes: 1 } })
    await scene.publish(50)
    expect((await scene.attach()).shown).toHaveLength(50)
  })

  it('of 10,000 replies of 10 KiB that nobody takes is at most a mebibyte, and then the session is closed', () => {
    const scene = new Scene()
    let accepted = 0
    for (let n = 0; n < 10_000; n++) if (scene.session.reply(sized(10_240))) accepted++
    expect(accepted).toBe(102)
    expect(scene.session.state).toBe('closed')
  })
})

describe('what the sessions of a registry keep together', () => {
  const registryOf = (maxReplyBytes: number) => {
    const registry = new SessionRegistry({ maxReplyBytes })
    const [one, other] = ['one', 'other'].map((id) => registry.create({ id, bus: busWith(0) }))
    if (!one || !other) throw new Error('two sessions')
    return { registry, one, other }
  }

  it('is bounded, and the session whose reply does not fit is closed', () => {
    const { registry, one, other } = registryOf(20)
    expect(one.reply(sized(12))).toBe(true)
    expect(other.reply(sized(12))).toBe(false)
    expect([one.state, other.state, registry.size]).toEqual(['detached', 'closed', 1])
    expect(registry.create({ id: 'third', bus: busWith(0) }).reply(sized(8))).toBe(true)
  })

  it('is freed of what any session can spare before that', async () => {
    const { one, other } = registryOf(20)
    one.attach(new FakeTransport())
    one.reply(sized(12))
    await flushed()
    expect(other.reply(sized(12))).toBe(true)
    const transport = new FakeTransport()
    one.attach(transport, { lastEventId: 0 })
    await flushed()
    expect(transport.shown).toEqual(['replay_complete'])
  })

  it('is freed by sessions that end', () => {
    const { one, other } = registryOf(20)
    one.reply(sized(12))
    one.close()
    expect(other.reply(sized(20))).toBe(true)
  })

  it('is 64 MiB by default', () => {
    const registry = new SessionRegistry()
    const limits = { maxReplyBytes: Infinity }
    const sessions = ['a', 'b'].map((id) => registry.create({ id, bus: busWith(0), limits }))
    expect(sessions[0]?.reply(sized(67_108_864))).toBe(true)
    expect(sessions[1]?.reply(1)).toBe(false)
  })
})
