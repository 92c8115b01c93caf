import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { type HandlerContext, type HandlerSubscription, subscribe } from '../../src/router/index.ts'
import { publish } from '../support/bus.ts'
import { flush } from '../support/reading.ts'
import { isSettled, SlowHandler } from '../support/router.ts'

describe('close() is a barrier', () => {
  it('resolves when the running handler has finished, and no other starts', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, {}, slow.handle)
    publish(bus, 3)
    await flush()
    const closed = handle.close()
    expect(bus.subscriberCount).toBe(0)
    expect(await isSettled(closed)).toBe(false)
    await slow.finish(1)
    await closed
    publish(bus, 1)
    await flush()
    expect(slow.started).toEqual([1])
  })

  it('resolves also when the running handler fails', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, { onError: () => {} }, slow.handle)
    publish(bus, 1)
    await flush()
    const closed = handle.close()
    slow.call(1).fail(new Error('no'))
    await closed
  })

  it('waits for all handlers that run at the same time', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, { concurrency: 3 }, slow.handle)
    publish(bus, 3)
    await flush()
    const closed = handle.close()
    await slow.finish(2)
    await slow.finish(1)
    expect(await isSettled(closed)).toBe(false)
    await slow.finish(3)
    await closed
  })

  it('does not wait for handlers of other subscribers', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    subscribe(bus, {}, slow.handle)
    const handle = subscribe(bus, {}, () => {})
    publish(bus, 1)
    await flush()
    await handle.close()
  })
})

describe('close() from inside a handler', () => {
  it("by the handle, before the handler's first await, does not wait for that handler", async () => {
    const bus = new EventBus()
    const seen: number[] = []
    let done = false
    const handle: HandlerSubscription = subscribe(bus, {}, async ({ id }) => {
      seen.push(id)
      await handle.close()
      done = true
    })
    publish(bus, 2)
    await flush()
    expect(done).toBe(true)
    expect(seen).toEqual([1])
  })

  it('by what the handler was given does not wait for it at any time', async () => {
    const bus = new EventBus()
    let done = false
    subscribe(bus, {}, async (_, { close, signal }) => {
      await undefined
      await close()
      done = signal.aborted
    })
    publish(bus, 2)
    await flush()
    expect(done).toBe(true)
    expect(bus.subscriberCount).toBe(0)
  })

  it('works for a handler that is synchronous', async () => {
    const bus = new EventBus()
    const seen: number[] = []
    subscribe(bus, {}, ({ id }, { close }) => {
      seen.push(id)
      void close()
    })
    publish(bus, 2)
    await flush()
    expect(seen).toEqual([1])
  })

  it('waits for the others, and anybody outside waits for it as well', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    const handle = subscribe(bus, { concurrency: 2 }, slow.handle)
    publish(bus, 2)
    await flush()
    const inside = slow.call(1).context.close()
    const outside = handle.close()
    expect(await isSettled(inside)).toBe(false)
    await slow.finish(2)
    await inside
    expect(await isSettled(outside)).toBe(false)
    await slow.finish(1)
    await outside
  })

  type Closing = (context: HandlerContext, handle: HandlerSubscription) => Promise<void>
  const later: Closing = async ({ close }) => {
    await undefined
    await close()
  }
  const atOnce: Closing = ({ close }) => close()

  const letsBothGoOn = async (first: Closing, second: Closing) => {
    const bus = new EventBus()
    const done: number[] = []
    const handle: HandlerSubscription = subscribe(bus, { concurrency: 2 }, async ({ id }, context) => {
      await (id === 1 ? first : second)(context, handle)
      done.push(id)
    })
    publish(bus, 2)
    await flush()
    expect(done.sort()).toEqual([1, 2])
  }

  it.each<[how: string, first: Closing, second: Closing]>([
    ['what each was given, behind its first await', later, later],
    ['what each was given, in one before its first await', later, atOnce],
    ['what one was given, behind its first await, and by the handle', later, (_, handle) => handle.close()],
  ])('by two handlers, by %s, lets both of them go on', (_, first, second) => letsBothGoOn(first, second))

  it('by one whose closing makes another close as well, and again, lets both of them go on', async () => {
    const closedBySignal: Closing = async ({ close, signal }) => {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          void close()
          resolve()
        })
      })
      await close()
    }
    await letsBothGoOn(closedBySignal, atOnce)
  })

  it('by one that made another close before, lets both of them go on', async () => {
    let tell = () => {}
    const closedWhenTold: Closing = async ({ close }) => {
      await new Promise<void>((resolve) => {
        tell = () => {
          void close()
          resolve()
        }
      })
      await close()
    }
    await letsBothGoOn(closedWhenTold, ({ close }) => {
      tell()
      return close()
    })
  })

  it('by what one was given that has finished, waits for a handler that had waited for it', async () => {
    const bus = new EventBus()
    const slow = new SlowHandler()
    subscribe(bus, { concurrency: 2 }, slow.handle)
    publish(bus, 2)
    await flush()
    void slow.call(2).context.close()
    await slow.finish(1)
    const closed = slow.call(1).context.close()
    expect(await isSettled(closed)).toBe(false)
    await slow.finish(2)
    await closed
  })

  it('by each of 4096 that run at the same time lets all of them go on', async () => {
    const bus = new EventBus()
    const closed = await new Promise<Promise<void>[]>((resolve) => {
      const calls: (() => Promise<void>)[] = []
      subscribe(bus, { concurrency: Infinity }, async (_, { close }) => {
        const mine = new Promise<void>((go) => {
          calls.push(async () => go(await close()))
        })
        if (calls.length === 4096) resolve(calls.map((call) => call()))
        await mine
      })
      publish(bus, 4096)
    })
    await Promise.all(closed)
  }, 60_000)
})
