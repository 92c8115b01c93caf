import { describe, expect, it } from 'vitest'
import { abortListeners } from '../support/bus.ts'
import { shown } from '../support/shown.ts'
import { publish, publishBytes, read, type World } from './world.ts'

type Bad = [option: string, wrongTypes: unknown[], outOfDomain: unknown[]]

export const notNumbers = [null, '3', true, {}, [], 1n, () => 1, Symbol('s')]
export const notCaps = [0, -1, 2.5, Number.NaN, -Infinity]

const ofBus: Bad[] = [
  ['ringSize', notNumbers, [-1, 2.5, Number.NaN, -Infinity]],
  ['maxRingBytes', notNumbers, notCaps],
  ['maxSubscribers', notNumbers, notCaps],
  ['maxQueued', notNumbers, notCaps],
  ['maxQueuedBytes', notNumbers, notCaps],
  ['onDiagnostic', [null, 'log', {}, 5], []],
]

const ofSubscribe: Bad[] = [
  ['lastEventId', notNumbers, [-1, 2.5, Number.NaN, Infinity, 2 ** 53]],
  ['maxQueued', notNumbers, notCaps],
  ['maxQueuedBytes', notNumbers, notCaps],
  ['signal', [null, {}, { aborted: false }, 'abort', 5, true, new AbortController(), new EventTarget()], []],
  ['filter', [null, 'a', {}, 5], []],
  ['warnings', [null, 'no', 0, {}], []],
  [
    'from',
    [null, 5, true, [], {}, { last: null }, { last: '2' }],
    [{ last: -1 }, { last: 1.5 }, { last: Number.NaN }, 'latest', '', 'EARLIEST'],
  ],
]

const cases = (bad: Bad[]) =>
  bad.flatMap(([option, wrongTypes, outOfDomain]) => [
    ...shown(wrongTypes).map(([title, value]) => ({ option, title, value, error: TypeError })),
    ...shown(outOfDomain).map(([title, value]) => ({ option, title, value, error: RangeError })),
  ])

/** What a call throws or rejects with is of that kind, and names the option. */
async function expectRefusal(call: () => unknown, option: string, error: ErrorConstructor): Promise<void> {
  const thrown = await (async () => call())().then(
    () => undefined,
    (caught: unknown) => caught,
  )
  expect(thrown).toBeInstanceOf(error)
  expect((thrown as Error).message).toContain(option)
}

export function options({ open, busWith }: World): void {
  describe('of the bus', () => {
    it.each(cases(ofBus))('refuses $option: $title, naming it', ({ option, value, error }) =>
      expectRefusal(() => open({ [option]: value }), option, error),
    )

    it.each([
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
      {
        ringSize: undefined,
        maxRingBytes: undefined,
        maxSubscribers: undefined,
        maxQueued: undefined,
        maxQueuedBytes: undefined,
        onDiagnostic: undefined,
      },
    ])('takes the edges of each domain, and undefined: %o', async (edge) => {
      const { bus } = await open(edge)
      const subscription = bus.subscribe()
      await publishBytes(bus, 60)
      expect(await read(subscription, 1)).toEqual([1])
    })
  })

  describe('of subscribe', () => {
    it.each(cases(ofSubscribe))(
      'refuses $option: $title, naming it, and registers nothing',
      async ({ option, value, error }) => {
        const bus = await busWith(3, { maxQueuedBytes: 100_000 })
        const { signal } = new AbortController()
        // Thrown, not rejected: `subscribe` waits for nothing.
        expect(() => bus.subscribe({ signal, [option]: value })).toThrow(error)
        await expectRefusal(() => bus.subscribe({ signal, [option]: value }), option, error)
        expect([bus.subscriberCount, abortListeners(signal)]).toEqual([0, 0])
        const subscription = bus.subscribe()
        await publish(bus, 1)
        expect(await read(subscription, 1)).toEqual([4])
      },
    )

    it('refuses an epoch that is no string beside a cursor', async () => {
      const bus = await busWith(3)
      for (const epoch of [null, 5, {}] as never[]) {
        await expectRefusal(() => bus.subscribe({ lastEventId: 1, epoch }), 'epoch', TypeError)
      }
    })

    it('refuses from beside lastEventId', async () => {
      const bus = await busWith(3)
      for (const from of ['earliest', { last: 1 }] as const) {
        await expectRefusal(() => bus.subscribe({ lastEventId: 0, from }), 'from', TypeError)
      }
      expect(bus.subscriberCount).toBe(0)
    })

    it('refuses its own maxQueuedBytes where the bus does not measure', async () => {
      const bus = await busWith(0)
      await expectRefusal(() => bus.subscribe({ maxQueuedBytes: 1000 }), 'maxQueuedBytes', RangeError)
    })

    it.each([null, 5, 'x', true])('refuses %j for all of them', async (value) => {
      const bus = await busWith(0)
      expect(() => bus.subscribe(value as never)).toThrow(TypeError)
      expect(bus.subscriberCount).toBe(0)
    })
  })

  describe('of close', () => {
    it.each([null, 0, 'no', {}])('refuses drain: %j, naming it, and the bus goes on', async (drain) => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      await expectRefusal(() => bus.close({ drain } as never), 'drain', TypeError)
      expect(bus.closed).toBe(false)
      await publish(bus, 1)
      expect(await read(subscription, 1)).toEqual([1])
    })

    it.each([null, 5, 'x', true])('refuses %j for all of them, and the bus goes on', async (value) => {
      const { bus } = await open()
      await expectRefusal(() => bus.close(value as never), 'options', TypeError)
      expect(bus.closed).toBe(false)
    })
  })
}
