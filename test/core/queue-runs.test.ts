import { describe, expect, it, vi } from 'vitest'
import { BoundedAsyncQueue } from '../../src/index.ts'
import { range } from '../support/frames.ts'
import { drained, settled } from '../support/reading.ts'

const queueOf = (maxSize = 4, maxBytes?: number) =>
  new BoundedAsyncQueue<string>(maxBytes === undefined ? { maxSize } : { maxSize, maxBytes })

const valuesOf = async (queue: BoundedAsyncQueue<string>) => (await drained(queue)).values

describe('forcePushAll', () => {
  it('is read in its place, in order, and never counts', async () => {
    const queue = queueOf(1)
    queue.push('a')
    queue.forcePushAll(['f1', 'f2', 'f3'])
    expect([queue.size, queue.push('b')]).toEqual([1, false])
    queue.forcePush('f4')
    expect((await queue.next()).value).toBe('a')
    queue.push('b')
    expect(await valuesOf(queue)).toEqual(['f1', 'f2', 'f3', 'f4', 'b'])
  })

  it('is pulled as the consumer reads, never ahead', async () => {
    const queue = queueOf()
    const pulled: number[] = []
    queue.forcePushAll(
      (function* () {
        for (const n of [1, 2, 3]) {
          pulled.push(n)
          yield `f${n}`
        }
      })(),
    )
    expect(pulled).toEqual([])
    await queue.next()
    expect(pulled).toEqual([1])
    await queue.next()
    expect(pulled).toEqual([1, 2])
  })

  it('may be endless', async () => {
    const queue = queueOf()
    queue.forcePushAll(
      (function* () {
        for (let n = 0; ; n++) yield `f${n}`
      })(),
    )
    for (const n of range(0, 99)) expect((await queue.next()).value).toBe(`f${n}`)
    await queue.return()
    expect(await queue.next()).toEqual({ value: undefined, done: true })
  })

  it('may be empty: the reader gets what is behind it, or waits', async () => {
    const queue = queueOf()
    queue.forcePushAll([])
    queue.push('a')
    expect(await valuesOf(queue)).toEqual(['a'])
    const waiting = queueOf()
    waiting.forcePushAll([])
    const next = waiting.next()
    expect(await settled(next)).toBeUndefined()
    waiting.push('b')
    expect((await next).value).toBe('b')
  })

  it('serves readers who wait', async () => {
    const queue = queueOf()
    const reads = [queue.next(), queue.next(), queue.next()]
    queue.forcePushAll(['f1', 'f2'])
    queue.push('a')
    expect((await Promise.all(reads)).map((result) => result.value)).toEqual(['f1', 'f2', 'a'])
  })

  it('several follow one another', async () => {
    const queue = queueOf()
    queue.forcePushAll(['a', 'b'])
    queue.forcePushAll(new Set(['c']))
    queue.forcePushAll('de')
    expect(await valuesOf(queue)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('that throws ends the run: the error reaches the reader, and what is behind it follows', async () => {
    const error = new Error('run')
    const queue = queueOf()
    queue.forcePushAll(
      (function* () {
        yield 'f1'
        throw error
      })(),
    )
    queue.push('a')
    expect((await queue.next()).value).toBe('f1')
    await expect(queue.next()).rejects.toBe(error)
    expect(await queue.next()).toEqual({ value: 'a', done: false })
    expect([queue.size, queue.bytes]).toEqual([0, 0])
  })

  it('that throws reaches a reader who waits, and one of batches, who loses nothing', async () => {
    const error = new Error('run')
    const failing = function* () {
      yield 'f1'
      throw error
    }
    const waited = queueOf()
    const reads = [waited.next(), waited.next()] as const
    waited.forcePushAll(failing())
    expect((await reads[0]).value).toBe('f1')
    await expect(reads[1]).rejects.toBe(error)

    const batched = queueOf()
    batched.forcePushAll(failing())
    batched.push('a')
    const seen: unknown[] = []
    for (let i = 0; i < 3; i++) {
      await batched.nextBatch().then(
        (result) => seen.push(...(result.value ?? [])),
        (caught) => seen.push(caught),
      )
      if (seen.length === 3) break
    }
    expect(seen).toEqual(['f1', error, 'a'])
  })

  it('is readable after close(), and dropped by close({ drain: false })', async () => {
    const drains = queueOf()
    drains.forcePushAll(['f1', 'f2'])
    drains.close()
    expect(await drained(drains)).toEqual({ values: ['f1', 'f2'], ended: true })
    const drops = queueOf()
    drops.forcePushAll(['f1', 'f2'])
    drops.close({ drain: false })
    expect(await drained(drops)).toEqual({ values: [], ended: true })
  })

  it.each(['return', 'close'] as const)('a run that is dropped half-read by %s() is told', async (way) => {
    const cleanedUp = vi.fn()
    const queue = queueOf()
    queue.forcePushAll(
      (function* () {
        try {
          yield 'f1'
          yield 'f2'
        } finally {
          cleanedUp()
        }
      })(),
    )
    await queue.next()
    if (way === 'return') await queue.return()
    else queue.close({ drain: false })
    expect(cleanedUp).toHaveBeenCalledTimes(1)
  })
})

describe('a run that uses the queue it stands in', () => {
  it('may push and read: nothing is lost or doubled', async () => {
    const queue = queueOf(10)
    const inner: Promise<IteratorResult<string, unknown>>[] = []
    queue.forcePushAll(
      (function* () {
        queue.push('pushed')
        inner.push(queue.next())
        yield 'f1'
        yield 'f2'
      })(),
    )
    expect((await queue.next()).value).toBe('f1')
    expect((await inner[0])?.value).toBe('f2')
    expect(await valuesOf(queue)).toEqual(['pushed'])
  })

  it('may close it', async () => {
    for (const drain of [true, false]) {
      const queue = queueOf(10)
      queue.forcePushAll(
        (function* () {
          yield 'f1'
          queue.close({ drain })
          yield 'f2'
        })(),
      )
      queue.push('a')
      expect(await drained(queue)).toEqual({ values: drain ? ['f1', 'f2', 'a'] : ['f1'], ended: true })
      expect([queue.size, queue.bytes]).toEqual([0, 0])
    }
  })

  it('leaves reads that wait in their order, also before one that is made as the first of them is answered', async () => {
    const queue = queueOf()
    const got: unknown[] = []
    const fail = vi.fn()
    queue.forcePushAll(
      (function* () {
        queue.receive(({ value }) => got.push(value, queue.tryNext()), fail)
        queue.receive(({ value }) => got.push(value), fail)
        for (const value of ['a', 'b', 'c']) queue.push(value)
      })(),
    )
    expect((await queue.next()).value).toBe('a')
    expect(got).toEqual(['b', undefined, 'c'])
    expect(fail).not.toHaveBeenCalled()
  })
})
