/** Handlers whose calls a test sees and finishes. */

import { type BusEvent, EventBus } from '../../src/index.ts'
import { type HandlerContext, startRouter } from '../../src/router/index.ts'
import { publish } from './bus.ts'
import { flush } from './reading.ts'

interface Call {
  readonly event: BusEvent
  readonly context: HandlerContext
  finish(): void
  fail(error: unknown): void
}

/** A handler that stays in each call until it is told to go on. */
export class SlowHandler {
  readonly calls: Call[] = []
  /** Ids whose calls have finished. */
  readonly finished: number[] = []

  readonly handle = (event: BusEvent, context: HandlerContext): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      this.calls.push({ event, context, finish: resolve, fail: reject })
    }).finally(() => this.finished.push(event.id))

  get started(): number[] {
    return this.calls.map(({ event }) => event.id)
  }

  /** The call for an event. */
  call(id: number): Call {
    const call = this.calls.find(({ event }) => event.id === id)
    if (call === undefined) throw new Error(`no handler was called for ${id}`)
    return call
  }

  /** Finishes the call for an event, and lets everything that this brings about happen. */
  async finish(id: number): Promise<void> {
    this.call(id).finish()
    await flush()
  }

  /** Finishes calls until no more come. */
  async finishAll(): Promise<void> {
    for (let at = this.finished.length; at < this.calls.length; at++) {
      this.calls[at]?.finish()
      await flush()
    }
  }
}

/** A router of one handler, which is in the call of the first of `count` events. */
export async function busyRouter(count = 1) {
  const bus = new EventBus()
  const slow = new SlowHandler()
  const handler = { pattern: '*', handle: slow.handle }
  const router = startRouter(bus, { handlers: [handler] })
  publish(bus, count)
  await flush()
  return { bus, slow, handler, router }
}

/** Whether a promise is settled, without waiting for it. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const settle = () => {
    settled = true
  }
  promise.then(settle, settle)
  await flush()
  return settled
}
