import { describe, expect, it } from 'vitest'
import type { AwaitOptions, AwaitService } from '../../src/router/index.ts'
import { RESPONSE, reply, service } from '../support/awaiting.ts'
import { abortListeners } from '../support/bus.ts'
import { isSettled } from '../support/router.ts'

describe('a reply', () => {
  it.each([
    ['accept', true],
    ['accepted', true],
    ['response.accept', true],
    ['entry.accepted', true],
    ['a.b.accepted', true],
    ['reject', false],
    ['response.acceptx', false],
    ['xaccept', false],
    ['ACCEPT', false],
    ['response.', false],
  ])('of type %j is accepted: %j', async (type, accepted) => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: '**' })
    const event = bus.publish({ type, data: 7 })
    expect(await waiter.wait()).toEqual({ event, accepted, error: undefined })
  })

  const error = new Error('no')
  it.each([
    ['is an Error', error, error],
    ['has one', { error }, error],
    ['has a text', { error: 'no' }, undefined],
    ['is null', null, undefined],
  ])('that is not accepted has the error of its data, which %s', async (_, data, expected) => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE })
    bus.publish({ type: 'response.reject', data })
    expect(await waiter.wait()).toMatchObject({ accepted: false, error: expected })
  })

  it('that is accepted has no error, whatever its data', async () => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE })
    reply(bus, 'p', { data: error })
    expect((await waiter.wait()).error).toBeUndefined()
  })

  it('whose data throws when it is looked at rejects the wait with that', async () => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: '*' })
    const data = {
      get error() {
        throw error
      },
    }
    bus.publish({ type: 'reject', data })
    await expect(waiter.wait()).rejects.toBe(error)
  })
})

describe('a waiter', () => {
  it('gets what is published between prepare and wait', async () => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ system: 's', type: RESPONSE, path: 'p' })
    const event = reply(bus, 'p', { system: 's' })
    reply(bus, 'p', { system: 's' })
    expect((await waiter.wait()).event).toBe(event)
    expect((await waiter.wait()).event).toBe(event)
  })

  it('takes no event of another path, system or type, and no pattern for a path', async () => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ system: 's', type: RESPONSE, path: '*' })
    reply(bus, 'p', { system: 's' })
    reply(bus, '*', { system: 't' })
    reply(bus, '*')
    bus.publish({ type: 'response.other', system: 's', path: '*' })
    expect(await isSettled(waiter.wait())).toBe(false)
    const event = reply(bus, '*', { system: 's' })
    expect((await waiter.wait()).event).toBe(event)
  })

  it('without a path takes any', async () => {
    const { bus, service: replies } = service()
    const waiters = [1, 2].map(() => replies.prepare({ type: RESPONSE }))
    const event = reply(bus, 'q')
    for (const waiter of waiters) expect((await waiter.wait()).event).toBe(event)
  })

  it.each(['__proto__', 'constructor', ''])('waits on a path %j like on any other', async (path) => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE, path })
    reply(bus, 'p')
    const event = reply(bus, path)
    expect((await waiter.wait()).event).toBe(event)
  })

  it('shares its path: all of them get the event, and one that began later does not', async () => {
    const { bus, service: replies } = service()
    const waiters = [1, 2, 3].map(() => replies.prepare({ type: RESPONSE, path: 'p' }))
    const event = reply(bus)
    const late = replies.prepare({ type: RESPONSE, path: 'p' })
    for (const waiter of waiters) expect((await waiter.wait()).event).toBe(event)
    expect(await isSettled(late.wait())).toBe(false)
  })

  it('that begins while an event is on its way does not get that one', async () => {
    const { bus, service: replies } = service()
    const early = replies.prepare({ type: RESPONSE, path: 'p' })
    const late: ReturnType<AwaitService['prepare']>[] = []
    bus.subscribe({
      filter: (event) => {
        if (event.type === 'go') {
          reply(bus)
          late.push(replies.prepare({ type: RESPONSE, path: 'p' }))
        }
        return false
      },
    })
    bus.publish({ type: 'go' })
    expect((await early.wait()).event.id).toBe(2)
    expect(await isSettled(late[0]?.wait() as never)).toBe(false)
    reply(bus)
    expect((await late[0]?.wait())?.event.id).toBe(3)
  })

  it('is asked where it says so, and takes the first event that it says yes to', async () => {
    const { bus, service: replies } = service()
    const waiter = replies.prepare({ type: RESPONSE, where: ({ data }) => data === 2 })
    for (const data of [1, 2, 2]) reply(bus, 'p', { data })
    expect((await waiter.wait()).event.id).toBe(2)
  })

  it('whose predicate throws is rejected alone', async () => {
    const { bus, reports, service: replies } = service()
    const error = new Error('no')
    const failing = replies.prepare({
      type: RESPONSE,
      where: () => {
        throw error
      },
    })
    const other = replies.prepare({ type: RESPONSE })
    reply(bus)
    await expect(failing.wait()).rejects.toBe(error)
    expect((await other.wait()).event.id).toBe(1)
    expect(reports).toEqual([])
    expect(bus.subscriberCount).toBe(0)
  })
})

describe('with a cursor, a waiter', () => {
  it('finds the first event that matches behind it among those that are retained', async () => {
    const { bus, service: replies } = service()
    for (const path of ['q', 'p', 'p']) reply(bus, path)
    const waiter = replies.prepare({ type: RESPONSE, path: 'p', since: 0 })
    expect((await waiter.wait()).event.id).toBe(2)
    expect((await replies.await({ type: RESPONSE, path: 'p', since: 2 })).event.id).toBe(3)
    expect(bus.subscriberCount).toBe(0)
  })

  it('waits on for what comes where none is retained, and shares a subscription then', async () => {
    const { bus, service: replies } = service({ ringSize: 1 })
    for (const path of ['p', 'q']) reply(bus, path)
    const waiters = [0, 2].map((since) => replies.prepare({ type: RESPONSE, path: 'p', since }))
    expect(bus.subscriberCount).toBe(1)
    reply(bus, 'p')
    for (const waiter of waiters) expect((await waiter.wait()).event.id).toBe(3)
    expect(bus.subscriberCount).toBe(0)
  })

  it('misses nothing that its predicate brings about while it searches', async () => {
    const { bus, service: replies } = service()
    reply(bus, 'p', { data: 1 })
    const where = ({ data }: { data: unknown }) => {
      if (data === 1) reply(bus, 'p', { data: 2 })
      return data === 2
    }
    const waiter = replies.prepare({ type: RESPONSE, since: 0, where })
    expect((await waiter.wait()).event.id).toBe(2)
  })

  it('misses nothing of that, though it is more than is queued', async () => {
    const { bus, reports, service: replies } = service({ maxQueued: 2 })
    reply(bus, 'p', { data: 0 })
    const asked: unknown[] = []
    const where = ({ data }: { data: unknown }) => {
      asked.push(data)
      if (data === 0) for (let i = 1; i <= 9; i++) reply(bus, 'p', { data: i })
      return data === 8
    }
    const waiter = replies.prepare({ type: RESPONSE, since: 0, where })
    expect((await waiter.wait()).event.id).toBe(9)
    expect(asked).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    expect(reports).toEqual([])
    expect(bus.subscriberCount).toBe(0)
  })

  it('misses nothing of that, though it is more than the cap on bytes lets wait', async () => {
    const { bus, reports, service: replies } = service({ maxQueuedBytes: 500 })
    reply(bus, 'p', { data: 0 })
    const where = ({ data }: { data: unknown }) => {
      if (data === 0) for (let i = 1; i <= 9; i++) reply(bus, 'p', { data: i })
      return data === 8
    }
    const waiter = replies.prepare({ type: RESPONSE, since: 0, where })
    expect((await waiter.wait()).event.id).toBe(9)
    expect(reports.map(({ type }) => type)).toContain('client_evicted')
    expect(bus.subscriberCount).toBe(0)
  })

  it('keeps the subscription that it will share, though the last of the others leaves while it searches', async () => {
    const { bus, service: replies } = service()
    reply(bus)
    const other = replies.prepare({ type: RESPONSE })
    const where = ({ id }: { id: number }) => {
      other.close()
      return id > 1
    }
    const waiter = replies.prepare({ type: RESPONSE, since: 0, where })
    expect(bus.subscriberCount).toBe(1)
    reply(bus)
    expect((await waiter.wait()).event.id).toBe(2)
    expect(bus.subscriberCount).toBe(0)
  })

  it('finds what an ended bus retains, and else is told that it is over', async () => {
    const { bus, service: replies } = service()
    reply(bus)
    bus.end()
    expect((await replies.await({ type: RESPONSE, since: 0 })).event.id).toBe(1)
    await expect(replies.await({ type: RESPONSE, since: 1 })).rejects.toMatchObject({ code: 'stopped' })
  })

  it('leaves nothing where there is no room for the search', () => {
    const { bus, service: replies } = service({ maxSubscribers: 1 })
    expect(() => replies.prepare({ type: RESPONSE, since: 0 })).toThrow('maxSubscribers')
    expect(bus.subscriberCount).toBe(0)
  })
})

describe('subscriptions', () => {
  it('are one for each pair of system and type, and gone with the last waiter', () => {
    const { bus, service: replies } = service()
    const prepare = (options: Partial<AwaitOptions>) => replies.prepare({ type: RESPONSE, ...options })
    expect(bus.subscriberCount).toBe(0)
    const waiters = [{ path: 'a' }, { path: 'b' }, {}].map(prepare)
    expect(bus.subscriberCount).toBe(1)
    waiters.push(prepare({ system: 's' }), prepare({ type: 'other' }))
    expect(bus.subscriberCount).toBe(3)
    for (const waiter of waiters.splice(1)) waiter.close()
    expect(bus.subscriberCount).toBe(1)
    waiters[0]?.close()
    expect(bus.subscriberCount).toBe(0)
  })

  it('are never evicted, however many events go by', async () => {
    const { bus, reports, service: replies } = service({ maxQueued: 1 })
    const waiter = replies.prepare({ type: RESPONSE, path: 'p' })
    for (let i = 0; i < 100; i++) reply(bus, 'q')
    const event = reply(bus, 'p')
    expect((await waiter.wait()).event).toBe(event)
    expect(reports).toEqual([])
  })

  it('are refused by a full bus, and nothing is left', () => {
    const { bus, service: replies } = service({ maxSubscribers: 1 })
    const { signal } = new AbortController()
    bus.subscribe()
    expect(() => replies.prepare({ type: RESPONSE, signal })).toThrow('maxSubscribers')
    expect(abortListeners(signal)).toBe(0)
  })
})
