import { describe, expect, it } from 'vitest'
import { type BusEvent, EventBus } from '../../src/index.ts'
import {
  type EventRouter,
  type HandlerContext,
  type RouteHandler,
  startRouter,
} from '../../src/router/index.ts'
import { publish } from '../support/bus.ts'
import { Watched } from '../support/garbage.ts'
import { flush } from '../support/reading.ts'
import { busyRouter, isSettled, SlowHandler } from '../support/router.ts'

/** Slow handlers of `a`, `b` and `c`; first of all, `a` removes that of `b`, and `c` removes that of `a`. */
function removing() {
  const bus = new EventBus()
  const went: string[] = []
  const slow = { a: new SlowHandler(), b: new SlowHandler(), c: new SlowHandler() }
  const handlerOf = (pattern: keyof typeof slow, removes?: object) => ({
    pattern,
    async handle(event: BusEvent, context: HandlerContext) {
      if (removes) await router.remove(removes)
      went.push(pattern)
      await slow[pattern].handle(event, context)
    },
  })
  const b = handlerOf('b')
  const a = handlerOf('a', b)
  const c = handlerOf('c', a)
  const router: EventRouter = startRouter(bus, { handlers: [a, b, c] as RouteHandler[] })
  const start = async (type: keyof typeof slow) => {
    bus.publish({ type })
    await flush()
  }
  return { slow, went, start }
}

describe('remove() from inside a handler', () => {
  it('waits for one that has removed another itself, and works on', async () => {
    const { slow, went, start } = removing()
    await start('a')
    await start('c')
    expect(went).toEqual(['a'])
    await slow.a.finish(1)
    expect(went).toEqual(['a', 'c'])
  })

  it('waits for one that waits for a third', async () => {
    const { slow, went, start } = removing()
    await start('b')
    await start('a')
    await start('c')
    expect(went).toEqual(['b'])
    await slow.b.finish(1)
    expect(went).toEqual(['b', 'a'])
    await slow.a.finish(2)
    expect(went).toEqual(['b', 'a', 'c'])
  })
})

describe('remove() waits for the call that still runs', () => {
  type Busy = Awaited<ReturnType<typeof busyRouter>>
  it.each<[ending: string, end: (busy: Busy) => unknown]>([
    ['remove()', ({ router, handler }) => router.remove(handler)],
    ['stop()', ({ router }) => router.stop()],
    ['the close of the call', ({ slow }) => slow.call(1).context.close()],
  ])('behind %s, as often as one asks', async (_, end) => {
    const busy = await busyRouter()
    const { slow, handler, router } = busy
    void end(busy)
    const removed = [router.remove(handler), router.remove(handler)]
    for (const each of removed) expect(await isSettled(each)).toBe(false)
    await slow.finish(1)
    await Promise.all(removed)
  })

  it('behind a remove() of its own', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handler = {
      pattern: '*',
      handle(event: BusEvent, context: HandlerContext) {
        void router.remove(handler)
        return slow.handle(event, context)
      },
    }
    const router: EventRouter = startRouter(bus, { handlers: [handler] }) as EventRouter
    publish(bus, 1)
    await flush()
    const removed = router.remove(handler)
    expect(await isSettled(removed)).toBe(false)
    await slow.finish(1)
    await removed
  })
})

it('handlers that all run are removed at the cost of each, not of all for each', async () => {
  const bus = new EventBus()
  const slow = new SlowHandler()
  const handlers = Array.from({ length: 4096 }, () => ({ pattern: '*', handle: slow.handle }))
  const router = startRouter(bus, { handlers })
  publish(bus, 1)
  await flush()
  const removed = Promise.all(handlers.map((handler) => router.remove(handler)))
  for (const call of slow.calls) call.finish()
  await removed
  expect(slow.finished).toHaveLength(4096)
  expect(bus.subscriberCount).toBe(0)
})

it('of handlers that each remove the one before and stay, the one that still runs is all that is kept', async () => {
  const bus = new EventBus({ ringSize: 0 })
  const router: EventRouter = startRouter(bus, { handlers: [] })
  const watched = new Watched()
  let before: RouteHandler | undefined
  for (let i = 0; i < 20; i++) {
    const predecessor = before ?? {}
    before = {
      pattern: `${i}`,
      async handle(_: BusEvent, { signal }: HandlerContext) {
        void router.remove(predecessor)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    } as RouteHandler
    router.add(before as never)
    bus.publish({ type: `${i}`, data: watched.payload() })
    await flush()
  }
  expect(await watched.alive()).toEqual([19])
  await router.stop()
})
