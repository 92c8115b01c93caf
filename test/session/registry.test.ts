import { describe, expect, it } from 'vitest'
import { ResumableSession, SessionRegistry } from '../../src/session/index.ts'
import { busWith } from '../support/bus.ts'
import { fakeTime, flushed, pass } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

const options = (id: string) => ({ id, bus: busWith(0), graceMs: 100 })

const codeOf = (run: () => unknown): unknown => {
  try {
    run()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
  return undefined
}

describe('a registry', () => {
  it('makes sessions and finds them by their id', () => {
    const registry = new SessionRegistry()
    const session = registry.create(options('a'))
    expect(session).toBeInstanceOf(ResumableSession)
    expect(registry.get('a')).toBe(session)
    expect(registry.get('b')).toBeUndefined()
    expect(registry.size).toBe(1)
  })

  it('refuses an id that is taken, and gives it again once the session has ended', () => {
    const registry = new SessionRegistry()
    registry.create(options('a')).close()
    const second = registry.create(options('a'))
    expect(codeOf(() => registry.create(options('a')))).toBe('session_exists')
    expect(registry.get('a')).toBe(second)
  })

  it('refuses one too many', () => {
    const registry = new SessionRegistry({ maxSessions: 1 })
    const session = registry.create(options('a'))
    expect(codeOf(() => registry.create(options('b')))).toBe('session_limit_exceeded')
    session.close()
    expect(registry.create(options('b')).state).toBe('detached')
  })

  it('has a session as long as it lives, however it ends', async () => {
    fakeTime()
    const registry = new SessionRegistry()
    const expiring = registry.create(options('expiring'))
    const transport = new FakeTransport()
    expiring.attach(transport)
    transport.drop()
    const bus = busWith(0)
    registry.create({ id: 'of a bus', bus })
    bus.close()
    expect(registry.size).toBe(1)
    await flushed()
    await pass(100)
    expect(registry.size).toBe(0)
  })

  it('never has a session of a bus that is closed', () => {
    const registry = new SessionRegistry()
    const bus = busWith(0)
    bus.close()
    expect(registry.create({ id: 'a', bus }).state).toBe('closed')
    expect(registry.size).toBe(0)
  })

  it('lets go of a session before its hooks hear of the end', () => {
    const registry = new SessionRegistry()
    const again = () => void registry.create(options('a'))
    registry.create({ ...options('a'), onClose: again }).close()
    expect(registry.get('a')?.state).toBe('detached')
  })

  it('closes one, or all', () => {
    const registry = new SessionRegistry()
    const reasons: unknown[] = []
    const onClose = (reason?: string) => reasons.push(reason)
    for (const id of ['a', 'b', 'c']) registry.create({ ...options(id), onClose })
    expect(registry.close('a', 'one')).toBe(true)
    expect(registry.close('a')).toBe(false)
    registry.closeAll('all')
    expect(reasons).toEqual(['one', 'all', 'all'])
    expect(registry.size).toBe(0)
  })

  it('takes names of the prototype for ids like any other', () => {
    const registry = new SessionRegistry()
    for (const id of ['__proto__', 'constructor', 'toString']) {
      expect(registry.get(id)).toBeUndefined()
      expect(registry.create(options(id))).toBe(registry.get(id))
    }
  })

  it('is closed by `using`', () => {
    let session: ResumableSession
    {
      using registry = new SessionRegistry()
      session = registry.create(options('a'))
    }
    expect(session.state).toBe('closed')
  })
})
