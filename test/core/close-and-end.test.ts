import { describe, expect, it } from 'vitest'
import { abortListeners, busWith, publish } from '../support/bus.ts'
import { complete, DONE } from '../support/frames.ts'
import { framesOf, settled } from '../support/reading.ts'

describe('bus.close()', () => {
  it('ends a waiting reader at once', async () => {
    const bus = busWith(0)
    const next = bus.subscribe().next()
    bus.close()
    expect(await settled(next)).toEqual({ value: { value: undefined, done: true } })
  })

  it('calls back a reader that ends the subscription itself, once', () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    let ends = 0
    subscription.receive(
      () => {
        ends++
        void subscription.return()
      },
      () => {},
    )
    bus.close()
    expect(ends).toBe(1)
  })
})

describe('bus.end()', () => {
  it('ends a waiting reader at once', async () => {
    const bus = busWith(0)
    const next = bus.subscribe().next()
    bus.end()
    expect(await settled(next)).toEqual({ value: { value: undefined, done: true } })
  })

  it('leaves nothing of a replay read to its end', async () => {
    const bus = busWith(3)
    bus.end()
    const { signal } = new AbortController()
    const subscription = bus.subscribe({ lastEventId: 0, signal })
    await framesOf(subscription)
    expect([bus.subscriberCount, abortListeners(signal)]).toEqual([0, 0])
  })

  it('twice, and then close(), takes nothing from a replay that was not read', async () => {
    const bus = busWith(1)
    const subscription = bus.subscribe({ lastEventId: 0 })
    bus.end()
    bus.end()
    bus.close()
    bus.end()
    expect(await framesOf(subscription)).toEqual([1, complete(1, 1), DONE])
  })
})

describe('return(value)', () => {
  it('settles at once with that value though next() is pending', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const next = subscription.next()
    const returned = await settled(subscription.return('bye'))
    expect(returned).toEqual({ value: { value: 'bye', done: true } })
    expect(await settled(next)).toEqual({ value: { value: undefined, done: true } })
  })

  it('settles at once where next() was never called', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    expect(await settled(subscription.return('bye'))).toEqual({ value: { value: 'bye', done: true } })
    expect(bus.subscriberCount).toBe(0)
  })

  it('resolves 1000 pending next() as done', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    const pending = Array.from({ length: 1000 }, () => subscription.next())
    await subscription.return()
    expect(new Set((await Promise.all(pending)).map((result) => result.done))).toEqual(new Set([true]))
  })
})

describe('throw(error)', () => {
  it('frees, rejects with the error, and resolves a pending next() as done', async () => {
    const bus = busWith(0)
    const { signal } = new AbortController()
    const subscription = bus.subscribe({ signal })
    publish(bus, 0)
    const next = subscription.next()
    const error = new Error('thrown')
    await expect(subscription.throw(error)).rejects.toBe(error)
    expect(await settled(next)).toEqual({ value: { value: undefined, done: true } })
    expect([bus.subscriberCount, abortListeners(signal)]).toEqual([0, 0])
  })
})

describe('a subscription is no async generator', () => {
  it('return() does not queue behind a pending next()', async () => {
    const subscription = busWith(0).subscribe()
    void subscription.next()
    void subscription.next()
    expect(await settled(subscription.return())).toBeDefined()
  })

  it('its batches() neither', async () => {
    const batches = busWith(0).subscribe().batches()
    const next = batches.next()
    expect(await settled(batches.return?.() ?? Promise.reject())).toBeDefined()
    expect(await settled(next)).toEqual({ value: { value: undefined, done: true } })
  })
})

describe('using', () => {
  it.runIf(typeof Symbol.dispose === 'symbol')('a bus is disposable: close({ drain: false })', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    publish(bus, 1)
    bus[Symbol.dispose]()
    expect(bus.closed).toBe(true)
    expect(await framesOf(subscription)).toEqual([DONE])
  })
})
