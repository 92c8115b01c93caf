/** What goes into a gate and what comes out, in short notation. */

import { vi } from 'vitest'
import type { Frame, StateResyncRequired } from '../../src/index.ts'
import { flush } from './reading.ts'

export const event = (id: number, type = 'tick'): Frame => ({ id, v: 1, type, data: id })

export const events = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => event(from + n))

export const COMPLETE: Frame = { v: 1, type: 'replay_complete', data: { replayedCount: 0 } }

export const resync = (earliestAvailableId = 5, epoch = 'e1'): StateResyncRequired => ({
  v: 1,
  type: 'state_resync_required',
  data: { reason: 'ring_evicted', lastDeliveredId: 1, earliestAvailableId, epoch },
})

/** What was let through: the id of an event, the reason of a resync, the type of another control frame. */
export const brief = (frames: Frame[]) =>
  frames.map((frame) => frame.id ?? (frame.data as { reason?: string }).reason ?? frame.type)

/** A promise that the test settles. */
export class Deferred<T> {
  resolve!: (value: T) => void
  reject!: (error: unknown) => void
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve
    this.reject = reject
  })
}

/** An `onResync` whose calls are answered by the test, in any order. */
export function loads() {
  const calls: Deferred<number | string | undefined>[] = []
  const onResync = vi.fn((_frame: StateResyncRequired) => {
    const call = new Deferred<number | string | undefined>()
    calls.push(call)
    return call.promise
  })
  return {
    onResync,
    finish: async (call: number, cursor?: number | string) => {
      calls[call]?.resolve(cursor)
      await flush()
    },
    fail: async (call: number, error = new Error('load')) => {
      calls[call]?.reject(error)
      await flush()
    },
  }
}

/** A source that gives what the test pushes, and nothing before it is asked. */
export class Feed implements AsyncIterableIterator<Frame, undefined> {
  asked = 0
  returned = 0
  #ended = false
  #ready: Promise<IteratorResult<Frame, undefined>>[] = []
  #waiting: Deferred<IteratorResult<Frame, undefined>>[] = []

  #give(outcome: Promise<IteratorResult<Frame, undefined>>): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) {
      outcome.catch(() => {})
      this.#ready.push(outcome)
    } else outcome.then(waiting.resolve, waiting.reject)
  }

  push(...frames: Frame[]): this {
    for (const value of frames) this.#give(Promise.resolve({ value, done: false }))
    return this
  }

  end(): this {
    this.#ended = true
    for (const waiting of this.#waiting.splice(0)) waiting.resolve({ value: undefined, done: true })
    return this
  }

  fail(error: unknown): this {
    this.#give(Promise.reject(error))
    return this
  }

  next(): Promise<IteratorResult<Frame, undefined>> {
    this.asked++
    const ready = this.#ready.shift()
    if (ready !== undefined) return ready
    if (this.#ended) return Promise.resolve({ value: undefined, done: true })
    const waiting = new Deferred<IteratorResult<Frame, undefined>>()
    this.#waiting.push(waiting)
    return waiting.promise
  }

  async return(): Promise<IteratorResult<Frame, undefined>> {
    this.returned++
    for (const waiting of this.#waiting.splice(0)) waiting.resolve({ value: undefined, done: true })
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
