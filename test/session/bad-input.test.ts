import { describe, expect, it } from 'vitest'
import { ResumableSession, SessionRegistry, wsTransport } from '../../src/session/index.ts'
import { busWith } from '../support/bus.ts'
import { Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

const make = (options: object) => () =>
  new ResumableSession({ id: 's', bus: busWith(0), ...options } as never)

const HOOKS = ['translate', 'onDetach', 'onReclaim', 'onReplace', 'onExpire', 'onCancel', 'onClose']

describe('a session', () => {
  it.each(['graceMs', 'stallTimeoutMs'])('wants %s as milliseconds from 0 on, or Infinity', (name) => {
    for (const value of [-1, NaN, 0.5]) {
      expect(make({ [name]: value })).toThrow(RangeError)
      expect(make({ [name]: value })).toThrow(name)
    }
    for (const value of ['1', null, {}]) {
      expect(make({ [name]: value })).toThrow(TypeError)
      expect(make({ [name]: value })).toThrow(name)
    }
    for (const value of [0, 1, Infinity, undefined]) expect(make({ [name]: value })).not.toThrow()
  })

  it.each(['maxReplies', 'maxReplyBytes'])('wants %s as a cap from 1 on, or Infinity', (name) => {
    for (const value of [0, -1, NaN, 1.5]) {
      expect(make({ limits: { [name]: value } })).toThrow(RangeError)
      expect(make({ limits: { [name]: value } })).toThrow(name)
    }
    expect(make({ limits: { [name]: '1' } })).toThrow(
      new TypeError(`${name} must be of type number, got string`),
    )
    for (const value of [1, Infinity, undefined]) expect(make({ limits: { [name]: value } })).not.toThrow()
  })

  it.each(HOOKS)('wants %s as a function', (name) => {
    for (const value of [null, 'f', {}]) {
      expect(make({ [name]: value })).toThrow(TypeError)
      expect(make({ [name]: value })).toThrow(name)
    }
    expect(make({ [name]: undefined })).not.toThrow()
  })

  it('wants an id, a bus, limits and options', () => {
    expect(make({ id: 7 })).toThrow(new TypeError('id must be of type string, got number'))
    expect(make({ id: '' })).toThrow(new RangeError('id must not be empty'))
    expect(make({ bus: null })).toThrow(new TypeError('bus must be of type object, got null'))
    expect(make({ bus: {} })).toThrow(new TypeError('bus must be a bus, got object'))
    expect(make({ limits: 1 })).toThrow(new TypeError('limits must be of type object, got number'))
    expect(() => new ResumableSession(undefined as never)).toThrow(TypeError)
  })

  it('leaves no trace on the bus where it is refused', () => {
    const bus = busWith(0, { maxSubscribers: 1 })
    expect(() => new ResumableSession({ id: 's', bus, graceMs: -1 })).toThrow(RangeError)
    expect(bus.subscriberCount).toBe(0)
  })
})

describe('attach', () => {
  it('wants a transport', () => {
    const { session } = new Scene()
    const closed = Promise.resolve()
    const bad = [
      null,
      undefined,
      'socket',
      {},
      { send() {}, close() {} },
      { send() {}, closed },
      { close() {}, closed },
    ]
    for (const transport of bad) {
      expect(() => session.attach(transport as never)).toThrow(TypeError)
      expect(() => session.attach(transport as never)).toThrow('transport')
    }
    expect(session.state).toBe('detached')
  })

  it('wants a cursor that can be one, and changes nothing for any other', async () => {
    const scene = new Scene()
    const living = await scene.attach()
    for (const lastEventId of [-1, 1.5, NaN, Infinity, 2 ** 53]) {
      expect(() => scene.session.attach(new FakeTransport(), { lastEventId })).toThrow(RangeError)
      expect(() => scene.session.attach(new FakeTransport(), { lastEventId })).toThrow('lastEventId')
    }
    expect(() => scene.session.attach(new FakeTransport(), { lastEventId: '1' as never })).toThrow(TypeError)
    expect(() => scene.session.attach(new FakeTransport(), { lastEventId: 1, epoch: 1 as never })).toThrow(
      'epoch',
    )
    expect(() => scene.session.attach(new FakeTransport(), null as never)).toThrow('options')
    await scene.publish(1)
    expect(living.shown).toEqual([1])
  })
})

describe('a registry', () => {
  it.each(['maxSessions', 'maxReplyBytes'])('wants %s as a cap from 1 on, or Infinity', (name) => {
    for (const value of [0, -1, NaN, 1.5]) {
      expect(() => new SessionRegistry({ [name]: value })).toThrow(RangeError)
    }
    expect(() => new SessionRegistry({ [name]: '1' })).toThrow(TypeError)
    expect(() => new SessionRegistry({ [name]: Infinity })).not.toThrow()
  })

  it('has nothing of a session that was refused', () => {
    const registry = new SessionRegistry()
    expect(() => registry.create({ id: '', bus: busWith(0) })).toThrow(RangeError)
    expect(() => registry.create(null as never)).toThrow(TypeError)
    expect(registry.size).toBe(0)
  })
})

describe('a WebSocket transport', () => {
  it('wants a socket', () => {
    for (const socket of [null, undefined, 'ws://x', {}, { send() {}, close() {} }]) {
      expect(() => wsTransport(socket as never)).toThrow(TypeError)
      expect(() => wsTransport(socket as never)).toThrow('socket')
    }
  })
})
