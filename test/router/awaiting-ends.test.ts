import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { AwaitService, AwaitTimeoutError } from '../../src/router/index.ts'
import { RESPONSE, reply, service } from '../support/awaiting.ts'
import { abortListeners, activeTimers } from '../support/bus.ts'
import { isSettled } from '../support/router.ts'
import { fakeTime, pass } from '../support/session.ts'

describe('a wait ends', () => {
  it('after 30 s, or as long as it was given from prepare on', async () => {
    fakeTime()
    const { bus, service: replies } = service()
    const usual = replies.prepare({ type: RESPONSE })
    const short = replies.prepare({ type: RESPONSE, timeoutMs: 5 })
    await pass(5)
    await expect(short.wait()).rejects.toMatchObject({ name: 'AwaitTimeoutError', code: 'await_timeout' })
    await pass(29_994)
    expect(await isSettled(usual.wait())).toBe(false)
    await pass(1)
    await expect(usual.wait()).rejects.toBeInstanceOf(AwaitTimeoutError)
    expect(bus.subscriberCount).toBe(0)
  })

  it('late with an error that names the type and the limit, and not the path, which may be a secret', async () => {
    fakeTime()
    const { service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE, path: 'secret', system: 'secret', timeoutMs: 500 })
    await pass(500)
    await expect(waiter.wait()).rejects.toThrow(/^no event response\.\(accept\|reject\) within 500 ms$/)
  })

  it.each([0, Infinity, 2 ** 31])('not within a month where the limit is %j ms', async (timeoutMs) => {
    fakeTime()
    const { service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE, timeoutMs })
    await pass(Math.min(2 ** 31 - 2, 30 * 86_400_000))
    expect(await isSettled(waiter.wait())).toBe(false)
    waiter.close()
  })

  it('with its signal, whose reason is the cause', async () => {
    const { bus, service: replies } = service()
    const controller = new AbortController()
    const { signal } = controller
    const waiter = replies.prepare({ type: RESPONSE, signal })
    expect(abortListeners(signal)).toBe(1)
    controller.abort('why')
    expect(abortListeners(signal)).toBe(0)
    expect(bus.subscriberCount).toBe(0)
    await expect(waiter.wait()).rejects.toMatchObject({ name: 'AbortError', code: 'aborted', cause: 'why' })
  })

  it('at once with an aborted signal, for which no slot is needed', async () => {
    const { bus, service: replies } = service({ maxSubscribers: 1 })
    bus.subscribe()
    for (const since of [undefined, 0]) {
      const waiter = replies.prepare({ type: RESPONSE, signal: AbortSignal.abort(), since })
      await expect(waiter.wait()).rejects.toMatchObject({ name: 'AbortError' })
      expect(bus.subscriberCount).toBe(1)
    }
  })

  it('with close(), and `using`', async () => {
    const { bus, service: replies } = service()
    let waiting: Promise<unknown>
    {
      using waiter = replies.prepare({ type: RESPONSE })
      waiting = waiter.wait()
      waiter.close()
      waiter.close()
    }
    await expect(waiting).rejects.toMatchObject({ code: 'stopped' })
    expect(bus.subscriberCount).toBe(0)
  })

  it.each(['end', 'close'] as const)('with the %s of its bus, and none begins after it', async (how) => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE, path: 'p' })
    bus[how]()
    await expect(waiter.wait()).rejects.toMatchObject({ code: 'stopped' })
    await expect(replies.await({ type: RESPONSE })).rejects.toMatchObject({ code: 'stopped' })
  })

  it('with stop(), which is terminal', async () => {
    const { bus, service: replies } = service()
    const waiting = ['a', 'b'].map((path) => replies.await({ type: RESPONSE, path }))
    waiting.push(replies.await({ type: 'other' }))
    replies.stop()
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'stopped' })
    expect(bus.subscriberCount).toBe(0)
    expect(() => replies.prepare({ type: RESPONSE })).toThrow(expect.objectContaining({ code: 'stopped' }))
    await expect(replies.await({ type: RESPONSE })).rejects.toMatchObject({ code: 'stopped' })
    replies.stop()
  })

  it('without an unhandled rejection, though nobody waits', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    const { service: replies } = service()
    replies.prepare({ type: RESPONSE, timeoutMs: 1 })
    void replies.await({ type: RESPONSE, timeoutMs: 1 })
    void replies.prepare({ type: RESPONSE, signal: AbortSignal.abort() }).wait()
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

it('10,000 requests that nobody answers leave nothing', async () => {
  const { bus, reports, service: replies } = service()
  const { signal } = new AbortController()
  const timers = activeTimers()
  const waiting = Array.from({ length: 10_000 }, (_, i) =>
    replies.await({ type: RESPONSE, path: `p.${i}`, timeoutMs: 50, ...(i < 5 && { signal }) }),
  )
  expect(bus.subscriberCount).toBe(1)
  for (let i = 0; i < 100; i++) reply(bus, `q.${i}`)
  const outcomes = await Promise.allSettled(waiting)
  expect(outcomes.every((one) => one.status === 'rejected' && one.reason.code === 'await_timeout')).toBe(true)
  expect(bus.subscriberCount).toBe(0)
  expect(activeTimers()).toBeLessThanOrEqual(timers)
  expect(abortListeners(signal)).toBe(0)
  expect(reports).toEqual([])
})

describe('a bad request', () => {
  it.each([
    ['type', {}, TypeError],
    ['type', { type: 'a*' }, TypeError],
    ['system', { type: 'a', system: '' }, TypeError],
    ['system', { type: 'a', system: null }, TypeError],
    ['path', { type: 'a', path: null }, TypeError],
    ['timeoutMs', { type: 'a', timeoutMs: -1 }, RangeError],
    ['timeoutMs', { type: 'a', timeoutMs: '1' }, TypeError],
    ['since', { type: 'a', since: 1.5 }, RangeError],
    ['since', { type: 'a', since: Infinity }, RangeError],
    ['where', { type: 'a', where: 'x' }, TypeError],
    ['signal', { type: 'a', signal: null }, TypeError],
    ['signal', { type: 'a', signal: { aborted: false } }, TypeError],
  ])('is refused by the name of its option: %s in %j', async (name, options, error) => {
    const { bus, service: replies } = service()
    const good = replies.prepare({ type: 'a' })
    expect(() => replies.prepare(options as never)).toThrow(error)
    expect(() => replies.prepare(options as never)).toThrow(name)
    await expect(replies.await(options as never)).rejects.toThrow(error)
    good.close()
    expect(bus.subscriberCount).toBe(0)
  })

  it('has no bus, or no options', () => {
    expect(() => new AwaitService(null as never)).toThrow(/bus/)
    expect(() => new AwaitService(new EventBus()).prepare(null as never)).toThrow(/options/)
  })
})
