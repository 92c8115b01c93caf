import { describe, expect, it } from 'vitest'
import { BoundedAsyncQueue, EventBus } from '../../src/index.ts'
import { abortListeners, busWith, publish } from '../support/bus.ts'
import { framesOf, take } from '../support/reading.ts'

type Bad = [option: string, value: unknown, error: 'TypeError' | 'RangeError']

const errors = { TypeError, RangeError }

const wrongTypes = (option: string, values: unknown[]): Bad[] =>
  values.map((value) => [option, value, 'TypeError'])

const outOfDomain = (option: string, values: unknown[]): Bad[] =>
  values.map((value) => [option, value, 'RangeError'])

const notNumbers = [null, '3', true, {}, [], 1n, () => 1, Symbol('s')]
const notCaps = [0, -1, 2.5, Number.NaN, -Infinity]

function show(value: unknown): string {
  if (typeof value === 'string' && value.length > 20) {
    return `${value.slice(0, 5)}… (${value.length} characters)`
  }
  if (value instanceof EventTarget || value instanceof AbortController) return value.constructor.name
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

const titled = (bad: Bad[]) =>
  bad.map(([option, value, error]) => ({ option, value, error, shown: show(value) }))

/** The call throws that very kind of error, and its message names the option. */
function expectRefusal(call: () => unknown, option: string, error: Bad[2]): void {
  let thrown: unknown
  try {
    call()
  } catch (caught) {
    thrown = caught
  }
  expect(thrown).toBeInstanceOf(errors[error])
  expect((thrown as Error).message).toContain(option)
}

describe('new EventBus', () => {
  it.each(
    titled([
      ...wrongTypes('ringSize', notNumbers),
      ...outOfDomain('ringSize', [-1, 2.5, Number.NaN, -Infinity]),
      ...wrongTypes('maxRingBytes', notNumbers),
      ...outOfDomain('maxRingBytes', notCaps),
      ...wrongTypes('maxSubscribers', notNumbers),
      ...outOfDomain('maxSubscribers', notCaps),
      ...wrongTypes('maxQueued', notNumbers),
      ...outOfDomain('maxQueued', notCaps),
      ...wrongTypes('maxQueuedBytes', notNumbers),
      ...outOfDomain('maxQueuedBytes', notCaps),
      ...wrongTypes('startAfterId', notNumbers),
      ...outOfDomain('startAfterId', [-1, 0.5, Number.NaN, Infinity, 2 ** 53]),
      ...wrongTypes('epoch', [null, 5, {}, [], true]),
      ...outOfDomain('epoch', ['', 'a b', 'a:b', 'ü', 'a\n', 'x'.repeat(65)]),
      ...wrongTypes('onDiagnostic', [null, 'log', {}, 5]),
    ]),
  )('refuses $option: $shown with a $error', ({ option, value, error }) => {
    expectRefusal(() => new EventBus({ [option]: value } as never), option, error)
  })

  it.each([null, 5, 'x', true])('refuses %j for its options', (options) => {
    expect(() => new EventBus(options as never)).toThrow(TypeError)
  })

  it('takes the edges of each domain', () => {
    const edges = [
      { ringSize: 0 },
      { ringSize: 1 },
      { ringSize: Infinity },
      { maxRingBytes: 1 },
      { maxRingBytes: Infinity },
      { maxSubscribers: 1 },
      { maxSubscribers: Infinity },
      { maxQueued: 1 },
      { maxQueued: Infinity },
      { maxQueuedBytes: 1 },
      { maxQueuedBytes: Infinity },
      { startAfterId: 0 },
      { startAfterId: Number.MAX_SAFE_INTEGER - 1 },
      { epoch: 'a' },
      { epoch: 'A-Za-z0-9_-'.repeat(6).slice(0, 64) },
    ]
    for (const options of edges) expect(() => new EventBus(options)).not.toThrow()
  })

  it('takes undefined for an option left out', () => {
    const bus = new EventBus({
      ringSize: undefined,
      maxRingBytes: undefined,
      maxSubscribers: undefined,
      maxQueued: undefined,
      maxQueuedBytes: undefined,
      epoch: undefined,
      startAfterId: undefined,
      onDiagnostic: undefined,
    })
    expect(publish(bus, 1)).toEqual([1])
    expect(bus.epoch).not.toBe('undefined')
  })

  it('says nothing of a value that may be secret', () => {
    for (const options of [{ epoch: 'hunter2 hunter2' }, { ringSize: 'hunter2' }]) {
      expect(() => new EventBus(options as never)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
      )
    }
  })
})

describe('subscribe', () => {
  const bad = titled([
    ...wrongTypes('lastEventId', notNumbers),
    ...outOfDomain('lastEventId', [-1, 2.5, Number.NaN, Infinity, 2 ** 53]),
    ...wrongTypes('maxQueued', notNumbers),
    ...outOfDomain('maxQueued', notCaps),
    ...wrongTypes('maxQueuedBytes', notNumbers),
    ...outOfDomain('maxQueuedBytes', notCaps),
    ...wrongTypes('signal', [null, {}, 'abort', 5, true, new AbortController(), new EventTarget()]),
    ...wrongTypes('filter', [null, 'a', {}, 5]),
    ...wrongTypes('warnings', [null, 'no', 0, {}]),
    ...wrongTypes('from', [null, 5, true, [], {}, { last: null }, { last: '2' }]),
    ...outOfDomain('from', [{ last: -1 }, { last: 1.5 }, { last: Number.NaN }]),
  ])

  it.each(bad)('refuses $option: $shown with a $error, and registers nothing', async (row) => {
    const bus = busWith(3, { maxQueuedBytes: 100_000 })
    const { signal } = new AbortController()
    expectRefusal(() => bus.subscribe({ signal, [row.option]: row.value } as never), row.option, row.error)
    expect([bus.subscriberCount, abortListeners(signal)]).toEqual([0, 0])
    const subscription = bus.subscribe({ lastEventId: 3 })
    publish(bus, 1)
    expect((await framesOf(subscription)).at(-1)).toBe(4)
  })

  it.each(['latest', '', 'EARLIEST'])('refuses from: %j, naming it', (from) => {
    expect(() => busWith(0).subscribe({ from } as never)).toThrow(/from/)
  })

  it('refuses an epoch that is no string beside a cursor', () => {
    for (const epoch of [null, 5, {}]) {
      expectRefusal(() => busWith(3).subscribe({ lastEventId: 1, epoch } as never), 'epoch', 'TypeError')
    }
  })

  it('refuses from beside lastEventId', () => {
    const bus = busWith(3)
    expectRefusal(() => bus.subscribe({ lastEventId: 1, from: 'earliest' }), 'from', 'TypeError')
    expectRefusal(() => bus.subscribe({ lastEventId: 0, from: { last: 1 } }), 'from', 'TypeError')
    expect(bus.subscriberCount).toBe(0)
  })

  it('refuses its own maxQueuedBytes where the bus does not measure', () => {
    expectRefusal(() => busWith(0).subscribe({ maxQueuedBytes: 1000 }), 'maxQueuedBytes', 'RangeError')
  })

  it.each([null, 5, 'x', true])('refuses %j for its options', (options) => {
    const bus = busWith(0)
    expect(() => bus.subscribe(options as never)).toThrow(TypeError)
    expect(bus.subscriberCount).toBe(0)
  })
})

describe('close', () => {
  it.each([null, 0, 'no', {}])('refuses drain: %j, and the bus goes on', async (drain) => {
    const bus = busWith(0)
    const subscription = bus.subscribe()
    expectRefusal(() => bus.close({ drain } as never), 'drain', 'TypeError')
    expect(bus.closed).toBe(false)
    publish(bus, 1)
    expect(await take(subscription, 1)).toEqual([1])
  })

  it.each([null, 5, 'x', true])('refuses %j for its options, and the bus goes on', (options) => {
    const bus = busWith(0)
    expect(() => bus.close(options as never)).toThrow(TypeError)
    expect(bus.closed).toBe(false)
  })
})

describe('new BoundedAsyncQueue', () => {
  it.each(
    titled([
      ...wrongTypes('maxSize', [undefined, ...notNumbers]),
      ...outOfDomain('maxSize', notCaps),
      ...wrongTypes('maxBytes', notNumbers),
      ...outOfDomain('maxBytes', notCaps),
    ]),
  )('refuses $option: $shown with a $error', ({ option, value, error }) => {
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
    expectRefusal(() => queue.close({ drain } as never), 'drain', 'TypeError')
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
