import { describe, expect, it } from 'vitest'
import { BoundedAsyncQueue } from '../../src/index.ts'
import { drained, settled } from '../support/reading.ts'

const queueOf = (maxSize = 4, maxBytes?: number) =>
  new BoundedAsyncQueue<string>(maxBytes === undefined ? { maxSize } : { maxSize, maxBytes })

const valuesOf = async (queue: BoundedAsyncQueue<string>) => (await drained(queue)).values

describe('push', () => {
  it('takes values up to maxSize and refuses the next, without waiting', async () => {
    const queue = queueOf(2)
    expect([queue.push('a'), queue.push('b'), queue.push('c')]).toEqual([true, true, false])
    expect(queue.size).toBe(2)
    expect(await valuesOf(queue)).toEqual(['a', 'b'])
  })

  it('has room again after a read', async () => {
    const queue = queueOf(1)
    queue.push('a')
    await queue.next()
    expect(queue.push('b')).toBe(true)
  })

  it('takes bytes up to maxBytes and refuses what goes beyond', () => {
    const queue = queueOf(10, 100)
    expect([queue.push('a', 60), queue.push('b', 40), queue.push('c', 1)]).toEqual([true, true, false])
    expect([queue.size, queue.bytes]).toEqual([2, 100])
  })

  it('hands the value to a waiting next(), which is never part of the backlog', async () => {
    const queue = queueOf(1)
    const next = queue.next()
    expect([queue.push('a'), queue.push('b'), queue.push('c')]).toEqual([true, true, false])
    expect(queue.size).toBe(1)
    expect(await next).toEqual({ value: 'a', done: false })
  })

  it('is refused after close()', () => {
    const queue = queueOf()
    queue.close()
    expect([queue.push('a'), queue.size]).toEqual([false, 0])
  })

  it('takes any value, undefined included', async () => {
    const queue = new BoundedAsyncQueue<unknown>({ maxSize: 9 })
    const values = [undefined, null, 0, '', Number.NaN, false]
    for (const value of values) expect(queue.push(value)).toBe(true)
    expect((await drained(queue)).values).toEqual(values)
  })
})

describe('forced entries', () => {
  it('never count, at the front', () => {
    const queue = queueOf(2)
    queue.forcePush('f1')
    queue.forcePush('f2')
    expect(queue.size).toBe(0)
    expect([queue.push('a'), queue.push('b'), queue.push('c')]).toEqual([true, true, false])
    expect(queue.size).toBe(2)
  })

  it('never count, in the middle and at the end', async () => {
    const queue = queueOf(2)
    queue.push('a')
    queue.forcePush('f1')
    queue.push('b')
    queue.forcePush('f2')
    expect([queue.size, queue.push('c')]).toEqual([2, false])
    const sizes: number[] = []
    for (const value of ['a', 'f1', 'b', 'f2']) {
      expect((await queue.next()).value).toBe(value)
      sizes.push(queue.size)
    }
    expect(sizes).toEqual([1, 1, 0, 0])
  })

  it('have no bytes', () => {
    const queue = queueOf(2, 10)
    queue.push('a', 10)
    queue.forcePush('f')
    expect(queue.bytes).toBe(10)
  })

  it('are handed to a waiting next()', async () => {
    const queue = queueOf()
    const next = queue.next()
    queue.forcePush('f')
    expect(await next).toEqual({ value: 'f', done: false })
  })
})

describe('next', () => {
  it('waits for a value', async () => {
    const queue = queueOf()
    const next = queue.next()
    expect(await settled(next)).toBeUndefined()
    queue.push('a')
    expect(await next).toEqual({ value: 'a', done: false })
  })

  it('overlapping ones are answered first come, first served', async () => {
    const queue = queueOf()
    const reads = [queue.next(), queue.next(), queue.next()]
    for (const value of ['a', 'b', 'c']) queue.push(value)
    expect((await Promise.all(reads)).map((result) => result.value)).toEqual(['a', 'b', 'c'])
  })

  it('works with for await, and break ends the queue', async () => {
    const queue = queueOf()
    queue.push('a')
    queue.push('b')
    const seen: string[] = []
    for await (const value of queue) {
      seen.push(value)
      break
    }
    expect([seen, queue.closed, queue.size, queue.push('c')]).toEqual([['a'], true, 0, false])
  })

  it('goes on in order through growth and wrap-around', async () => {
    const queue = new BoundedAsyncQueue<number>({ maxSize: 1000 })
    let written = 0
    let read = 0
    for (const [writes, reads] of [
      [5, 3],
      [20, 10],
      [300, 250],
      [700, 100],
      [3, 600],
      [9, 74],
    ] as const) {
      for (let i = 0; i < writes; i++) expect(queue.push(written++)).toBe(true)
      for (let i = 0; i < reads; i++) expect((await queue.next()).value).toBe(read++)
      expect(queue.size).toBe(written - read)
    }
    expect(written - read).toBe(0)
  })
})

describe('nextBatch', () => {
  it('gives a value whose bytes vanish in a sum as itself', async () => {
    const queue = queueOf()
    queue.push('a', 0.1)
    queue.push('b', 5e-324)
    expect(await queue.next()).toEqual({ value: 'a', done: false })
    expect(await queue.nextBatch()).toEqual({ value: ['b'], done: false })
  })

  it('gives all that is ready', async () => {
    const queue = queueOf()
    queue.forcePush('f')
    queue.push('a')
    queue.forcePushAll(['g', 'h'])
    queue.push('b')
    expect((await queue.nextBatch()).value).toEqual(['f', 'a', 'g', 'h', 'b'])
    expect(queue.size).toBe(0)
  })

  it('waits where nothing is ready, and shares the line with next()', async () => {
    const queue = queueOf()
    const reads = [queue.nextBatch(), queue.next()] as const
    queue.push('a')
    queue.push('b')
    expect((await reads[0]).value).toEqual(['a'])
    expect((await reads[1]).value).toBe('b')
  })

  it('is done after the end, never empty', async () => {
    const queue = queueOf()
    queue.push('a')
    queue.close()
    expect(await queue.nextBatch()).toEqual({ value: ['a'], done: false })
    expect(await queue.nextBatch()).toEqual({ value: undefined, done: true })
  })
})

describe('close', () => {
  it('lets what is queued drain, then ends', async () => {
    const queue = queueOf()
    queue.push('a')
    queue.forcePush('f')
    queue.close()
    expect([queue.closed, queue.size]).toEqual([true, 1])
    expect(await drained(queue)).toEqual({ values: ['a', 'f'], ended: true })
  })

  it('with { drain: false } drops it', async () => {
    const queue = queueOf(4, 100)
    queue.push('a', 50)
    queue.forcePush('f')
    queue.close({ drain: false })
    expect([queue.closed, queue.size, queue.bytes]).toEqual([true, 0, 0])
    expect(await queue.next()).toEqual({ value: undefined, done: true })
  })

  it('with { drain: false } drops what an earlier close() left', async () => {
    const queue = queueOf()
    queue.push('a')
    queue.close()
    queue.close({ drain: false })
    expect(await queue.next()).toEqual({ value: undefined, done: true })
  })

  it('ends every read that waits', async () => {
    const queue = queueOf()
    const reads = [queue.next(), queue.nextBatch(), queue.next()]
    queue.close()
    for (const read of reads) expect(await read).toEqual({ value: undefined, done: true })
  })

  it('twice is a no-op', async () => {
    const queue = queueOf()
    queue.push('a')
    queue.close()
    queue.close()
    expect(await drained(queue)).toEqual({ values: ['a'], ended: true })
  })
})

describe('return', () => {
  it('settles at once, drops what is queued and ends every read that waits', async () => {
    const queue = queueOf()
    const next = queue.next()
    expect(await settled(queue.return())).toEqual({ value: { value: undefined, done: true } })
    expect(await next).toEqual({ value: undefined, done: true })
    const full = queueOf()
    full.push('a')
    await full.return()
    expect([full.closed, full.size, full.push('b')]).toEqual([true, 0, false])
    expect(await full.next()).toEqual({ value: undefined, done: true })
  })
})
