import { describe, expect, it } from 'vitest'
import { type BusEvent, EventBus } from '../../src/index.ts'
import { type EventRouter, type HandlerContext, startRouter } from '../../src/router/index.ts'
import { abortListeners, publish } from '../support/bus.ts'
import { flush } from '../support/reading.ts'
import { busyRouter, isSettled, SlowHandler } from '../support/router.ts'

describe("a router's stop()", () => {
  const running = async () => {
    const bus = new EventBus()
    const [one, two] = [new SlowHandler(), new SlowHandler()]
    const router = startRouter(bus, {
      handlers: [one, two].map(({ handle }) => ({ pattern: '*', handle })),
    })
    publish(bus, 3)
    await flush()
    return { bus, router, one, two }
  }

  it('drops what is queued, frees every slot and resolves behind the running handlers', async () => {
    const { bus, router, one, two } = await running()
    const stopped = router.stop()
    expect(bus.subscriberCount).toBe(0)
    await one.finish(1)
    expect(await isSettled(stopped)).toBe(false)
    await two.finish(1)
    await stopped
    expect([...one.started, ...two.started]).toEqual([1, 1])
  })

  it('called again waits for the same end', async () => {
    const { router, one, two } = await running()
    const stopped = [router.stop(), router.stop()]
    await one.finish(1)
    stopped.push(router.stop())
    for (const each of stopped) expect(await isSettled(each)).toBe(false)
    await two.finish(1)
    await Promise.all(stopped)
    await router.stop()
  })

  it('waits also for the running handler of one that was removed', async () => {
    const { slow, handler, router } = await busyRouter()
    void router.remove(handler)
    const stopped = router.stop()
    expect(await isSettled(stopped)).toBe(false)
    await slow.finish(1)
    await stopped
  })

  it('from inside a handler does not wait for that one, but for the others', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    let stopped = false
    const router = startRouter(bus, {
      handlers: [
        { pattern: '*', handle: slow.handle },
        {
          pattern: '*',
          async handle() {
            await router.stop()
            stopped = true
          },
        },
      ],
    }) as EventRouter
    publish(bus, 2)
    await flush()
    expect(stopped).toBe(false)
    const outside = router.stop()
    await slow.finish(1)
    expect(stopped).toBe(true)
    await outside
  })

  it('from inside two handlers has neither wait for the other', async () => {
    const bus = new EventBus()
    let stopped = 0
    const stopping = {
      pattern: '*',
      async handle() {
        await router.stop()
        stopped++
      },
    }
    const router = startRouter(bus, { handlers: [stopping, { ...stopping }] }) as EventRouter
    publish(bus, 1)
    await flush()
    // The second of them did not come to its event any more.
    expect(stopped).toBe(1)
    await router.stop()
  })

  it('makes `add` throw by code, and has nothing to remove', async () => {
    const bus = new EventBus()
    const handler = { pattern: '*', handle: () => {} }
    const router = startRouter(bus, { handlers: [] })
    await router.stop()
    expect(() => router.add(handler)).toThrow(expect.objectContaining({ code: 'stopped' }))
    await router.remove(handler)
    expect(bus.subscriberCount).toBe(0)
  })

  it('is what its signal does, and `await using`', async () => {
    const bus = new EventBus()
    const controller = new AbortController()
    const { signal } = controller
    const contexts: HandlerContext[] = []
    const handle = (_: BusEvent, context: HandlerContext) => void contexts.push(context)
    const router = startRouter(bus, { handlers: [{ pattern: '*', handle }], signal })
    publish(bus, 1)
    await flush()
    expect(abortListeners(signal)).toBe(1)
    expect(contexts[0]?.signal.aborted).toBe(false)
    controller.abort()
    expect(abortListeners(signal)).toBe(0)
    expect(contexts[0]?.signal.aborted).toBe(true)
    expect(() => router.add({ pattern: 'a', handle })).toThrow('stopped')
    {
      await using _ = startRouter(bus, { handlers: [{ pattern: '*', handle }] })
      expect(bus.subscriberCount).toBe(1)
    }
    expect(bus.subscriberCount).toBe(0)
  })

  it('leaves nothing at its signal once the bus has ended and its handlers have seen all of it', async () => {
    const bus = new EventBus()
    const { signal } = new AbortController()
    const handler = { pattern: '*', handle: () => {} }
    const router = startRouter(bus, { handlers: [handler, { ...handler }], signal })
    await router.remove(handler)
    publish(bus, 1)
    bus.end()
    expect(abortListeners(signal)).toBe(1)
    await flush()
    expect(abortListeners(signal)).toBe(0)
    await router.stop()
  })

  it('has happened already with an aborted signal', () => {
    const bus = new EventBus()
    const handler = { pattern: '*', handle: () => {} }
    const router = startRouter(bus, { handlers: [handler], signal: AbortSignal.abort() })
    expect(bus.subscriberCount).toBe(0)
    expect(() => router.add(handler)).toThrow('stopped')
  })
})
