import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { subscribe } from '../../src/router/index.ts'

describe('a bad subscriber', () => {
  const cases: [name: string, options: object, error: typeof TypeError | typeof RangeError][] = [
    ['type', { type: '' }, TypeError],
    ['system', { system: 'a*' }, TypeError],
    ['path', { path: null }, TypeError],
    ['lastEventId', { lastEventId: -1 }, RangeError],
    ['lastEventId', { lastEventId: '1' }, TypeError],
    ['epoch', { lastEventId: 0, epoch: 7 }, TypeError],
    ['concurrency', { concurrency: 0 }, RangeError],
    ['concurrency', { concurrency: 1.5 }, RangeError],
    ['concurrency', { concurrency: null }, TypeError],
    ['onError', { onError: 1 }, TypeError],
    ['onGap', { onGap: null }, TypeError],
    ['signal', { signal: {} }, TypeError],
    ['signal', { signal: { aborted: false } }, TypeError],
  ]

  it.each(cases)('is refused by the name of its option: %s in %j', (name, options, error) => {
    const bus = new EventBus()
    expect(() => subscribe(bus, options, () => {})).toThrow(error)
    expect(() => subscribe(bus, options, () => {})).toThrow(name)
    expect(bus.subscriberCount).toBe(0)
  })

  it('has no bus, no options or no handler', () => {
    const bus = new EventBus()
    expect(() => subscribe({} as never, {}, () => {})).toThrow(/bus/)
    // Forgotten, as with an emitter that is one's own.
    expect(() => subscribe({ type: 'a' } as never, (() => {}) as never, undefined as never)).toThrow(/bus/)
    expect(() => subscribe(bus, null as never, () => {})).toThrow(/options/)
    expect(() => subscribe(bus, {}, 'x' as never)).toThrow(/handler/)
  })

  it('is refused by a full bus', () => {
    const bus = new EventBus({ maxSubscribers: 1 })
    subscribe(bus, {}, () => {})
    expect(() => subscribe(bus, {}, () => {})).toThrow(
      expect.objectContaining({ code: 'subscriber_limit_exceeded' }),
    )
  })
})
