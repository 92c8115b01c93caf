import { describe, expect, it } from 'vitest'
import { type BusEvent, EventBus } from '../../src/index.ts'
import { type EventRouter, type HandlerContext, startRouter } from '../../src/router/index.ts'
import { abortListeners, observedBus, publish } from '../support/bus.ts'
import { Watched } from '../support/garbage.ts'
import { flush } from '../support/reading.ts'
import { busyRouter, isSettled } from '../support/router.ts'

/** A handler that notes what it gets as `name:id`. */
const noting = (notes: string[], name: string, pattern: string | object = name) => ({
  pattern,
  handle: ({ id }: BusEvent) => void notes.push(`${name}:${id}`),
})

describe('a router', () => {
  it('gives each handler what its pattern matches: a type, or system, type and path', async () => {
    const bus = new EventBus()
    const notes: string[] = []
    startRouter(bus, {
      handlers: [
        noting(notes, 'type', 'job.*'),
        noting(notes, 'path', { path: 'a.**' }),
        noting(notes, 'all', {}),
      ],
    })
    bus.publish({ type: 'job.done', path: 'a.b' })
    bus.publish({ type: 'job' })
    await flush()
    expect(notes.sort()).toEqual(['all:1', 'all:2', 'path:1', 'type:1'])
  })

  it('reports a failing handler with its event and its pattern as it was given', async () => {
    const bus = new EventBus()
    const told: unknown[] = []
    const error = new Error('no')
    const handle = () => Promise.reject(error)
    startRouter(bus, {
      handlers: [
        { pattern: 'tick', handle },
        { pattern: { type: '*' }, handle },
      ],
      onError: (...all) => told.push(all),
    })
    publish(bus, 1)
    await flush()
    const event = expect.objectContaining({ id: 1 })
    expect(told).toEqual([
      [error, { event, pattern: 'tick' }],
      [error, { event, pattern: { type: '*' } }],
    ])
  })

  it('calls a handler as a method', async () => {
    const bus = new EventBus()
    class Counter {
      readonly pattern = '**'
      count = 0
      handle(): void {
        this.count++
      }
    }
    const counter = new Counter()
    startRouter(bus, { handlers: [counter] })
    publish(bus, 2)
    await flush()
    expect(counter.count).toBe(2)
  })

  it('adds and removes handlers while it runs, a handler that is there once only', async () => {
    const bus = new EventBus()
    const notes: string[] = []
    const [a, b] = [noting(notes, 'a', '*'), noting(notes, 'b', '*')]
    const router = startRouter(bus, { handlers: [a] })
    publish(bus, 1)
    await flush()
    router.add(b)
    router.add(b)
    publish(bus, 1)
    await flush()
    await router.remove(a)
    publish(bus, 1)
    await flush()
    expect(notes.sort()).toEqual(['a:1', 'a:2', 'b:2', 'b:3'])
    expect(bus.subscriberCount).toBe(1)
    await router.remove(a)
  })

  it('lets a handler add and remove others, and itself', async () => {
    const bus = new EventBus()
    const notes: string[] = []
    const other = noting(notes, 'other', '*')
    const first = {
      pattern: '*',
      async handle({ id }: BusEvent): Promise<void> {
        router.add(other)
        await router.remove(first)
        notes.push(`removed:${id}`)
      },
    }
    const router: EventRouter = startRouter(bus, { handlers: [first] })
    publish(bus, 2)
    await flush()
    publish(bus, 1)
    await flush()
    expect(notes).toEqual(['removed:1', 'other:3'])
  })

  it('removes a handler behind its running call, which the one that asks by itself does not wait for', async () => {
    const { slow, handler, router } = await busyRouter(2)
    const removed = router.remove(handler)
    expect(await isSettled(removed)).toBe(false)
    await slow.call(1).context.close()
    await slow.finish(1)
    await removed
    expect(slow.started).toEqual([1])
  })
})

it('a handler that has closed itself can be added again, and stop() waits for both of its calls', async () => {
  const { bus, slow, handler, router } = await busyRouter()
  await slow.call(1).context.close()
  router.add(handler)
  router.add(handler)
  expect(bus.subscriberCount).toBe(1)
  publish(bus, 1)
  await flush()
  expect(slow.started).toEqual([1, 2])
  const stopped = router.stop()
  await slow.finish(2)
  expect(await isSettled(stopped)).toBe(false)
  await slow.finish(1)
  await stopped
})

it('a router keeps nothing of handlers that are over', async () => {
  const bus = new EventBus({ ringSize: 0 })
  const watched = new Watched()
  const router = startRouter(bus, { handlers: [] })
  const once = () => {
    const kept = watched.payload()
    return { pattern: '*', handle: (_: BusEvent, { close }: HandlerContext) => void close().then(() => kept) }
  }
  for (let i = 0; i < 3; i++) router.add(once())
  publish(bus, 1)
  await flush()
  expect(bus.subscriberCount).toBe(0)
  expect(await watched.alive()).toEqual([])
  await router.stop()
}, 60_000)

describe('a bad router', () => {
  const handle = () => {}

  it('subscribes no handler where one of them is bad', () => {
    const { bus } = observedBus()
    const start = (handler: object) => () =>
      startRouter(bus, { handlers: [{ pattern: 'a', handle }, handler as never] })
    expect(start({ pattern: 'a*', handle })).toThrow(/type/)
    expect(start({ pattern: { path: '' }, handle })).toThrow(/path/)
    expect(start({ pattern: 'a' })).toThrow(/handle/)
    for (const pattern of [undefined, null, 7])
      expect(start({ type: 'x', pattern, handle })).toThrow(/^pattern must be of type string or object, got /)
    expect(start(null as never)).toThrow(TypeError)
    expect(bus.subscriberCount).toBe(0)
  })

  it('subscribes no handler where there is no room for all of them', () => {
    const bus = new EventBus({ maxSubscribers: 1 })
    const { signal } = new AbortController()
    const handlers = [
      { pattern: 'a', handle },
      { pattern: 'b', handle },
    ]
    expect(() => startRouter(bus, { handlers, signal })).toThrow('maxSubscribers')
    expect(bus.subscriberCount).toBe(0)
    expect(abortListeners(signal)).toBe(0)
  })

  it('is refused by the name of its option', () => {
    const bus = new EventBus()
    expect(() => startRouter(null as never, { handlers: [] })).toThrow(/bus/)
    expect(() => startRouter(bus, {} as never)).toThrow(/handlers/)
    expect(() => startRouter(bus, null as never)).toThrow(/options/)
    expect(() => startRouter(bus, { handlers: [], onError: 1 as never })).toThrow(/onError/)
    expect(() => startRouter(bus, { handlers: [], signal: 1 as never })).toThrow(/signal/)
  })
})
