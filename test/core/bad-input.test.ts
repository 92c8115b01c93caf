import { describe, expect, it } from 'vitest'
import { BoundedAsyncQueue, EventBus } from '../../src/index.ts'
import { notCaps, notNumbers } from '../conformance/options.ts'
import { publish } from '../support/bus.ts'
import { shown } from '../support/shown.ts'

const rows = (option: string, error: ErrorConstructor, values: unknown[]) =>
  shown(values).map(([title, value]) => ({ option, title, value, error }))

/** The call throws that very kind of error, and its message names the option. */
function expectRefusal(call: () => unknown, option: string, error: ErrorConstructor): void {
  let thrown: unknown
  try {
    call()
  } catch (caught) {
    thrown = caught
  }
  expect(thrown).toBeInstanceOf(error)
  expect((thrown as Error).message).toContain(option)
}

describe('new EventBus', () => {
  it.each([
    ...rows('startAfterId', TypeError, notNumbers),
    ...rows('startAfterId', RangeError, [-1, 0.5, Number.NaN, Infinity, 2 ** 53]),
    ...rows('epoch', TypeError, [null, 5, {}, [], true]),
    ...rows('epoch', RangeError, ['', 'a b', 'a:b', 'ü', 'a\n', 'x'.repeat(65)]),
  ])('refuses $option: $title, naming it', ({ option, value, error }) => {
    expectRefusal(() => new EventBus({ [option]: value }), option, error)
  })

  it.each([null, 5, 'x', true])('refuses %j for its options', (options) => {
    expect(() => new EventBus(options as never)).toThrow(TypeError)
  })

  it('takes the edges of each domain', () => {
    const edges = [
      { startAfterId: 0 },
      { startAfterId: Number.MAX_SAFE_INTEGER - 1 },
      { epoch: 'a' },
      { epoch: 'A-Za-z0-9_-'.repeat(6).slice(0, 64) },
    ]
    for (const options of edges) expect(() => new EventBus(options)).not.toThrow()
  })

  it('takes undefined for an option left out', () => {
    const bus = new EventBus({ epoch: undefined, startAfterId: undefined })
    expect(publish(bus, 1)).toEqual([1])
    expect(bus.epoch).not.toBe('undefined')
  })

  it.each([null, 5, true])('says of %j for the `from` of a subscriber what may stand there', (from) => {
    expect(() => new EventBus().subscribe({ from } as never)).toThrow(
      /^from must be of type string or object, got /,
    )
  })

  it('says nothing of a value that may be secret', () => {
    for (const options of [{ epoch: 'hunter2 hunter2' }, { ringSize: 'hunter2' }]) {
      expect(() => new EventBus(options as never)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
      )
    }
  })
})

describe('close', () => {
  it('throws and does not reject, since it waits for nothing', () => {
    for (const options of [null, { drain: 0 }]) {
      expect(() => new EventBus().close(options as never)).toThrow(TypeError)
    }
  })
})

describe('new BoundedAsyncQueue', () => {
  it.each([
    ...rows('maxSize', TypeError, [undefined, ...notNumbers]),
    ...rows('maxSize', RangeError, notCaps),
    ...rows('maxBytes', TypeError, notNumbers),
    ...rows('maxBytes', RangeError, notCaps),
  ])('refuses $option: $title, naming it', ({ option, value, error }) => {
    expectRefusal(() => new BoundedAsyncQueue({ maxSize: 1, [option]: value } as never), option, error)
  })

  it.each([undefined, null, 5, 'x'])('refuses %j for its options', (options) => {
    expect(() => new BoundedAsyncQueue(options as never)).toThrow(TypeError)
  })

  it.each([null, 5, {}])('forcePushAll refuses %j, and the queue goes on', async (values) => {
    const queue = new BoundedAsyncQueue<number>({ maxSize: 2 })
    expect(() => queue.forcePushAll(values as never)).toThrow(TypeError)
    expect(queue.push(1)).toBe(true)
    expect(await queue.next()).toEqual({ value: 1, done: false })
  })

  it.each([null, 0, 'no'])('close refuses drain: %j, and the queue goes on', (drain) => {
    const queue = new BoundedAsyncQueue<number>({ maxSize: 2 })
    expectRefusal(() => queue.close({ drain } as never), 'drain', TypeError)
    expect(queue.closed).toBe(false)
    expect(queue.push(1)).toBe(true)
  })

  it.each([-5, Number.NaN, Infinity, -Infinity, 'x', null, {}])(
    'push never throws, whatever its bytes: %j',
    async (bytes) => {
      const queue = new BoundedAsyncQueue<number>({ maxSize: 4, maxBytes: 100 })
      expect(() => queue.push(1, bytes as never)).not.toThrow()
      expect(queue.push(2, 10)).toBe(true)
      queue.close()
      const values: number[] = []
      for await (const value of queue) values.push(value)
      expect(values).toContain(2)
      expect([queue.size, queue.bytes]).toEqual([0, 0])
    },
  )
})
