import { describe, expect, it } from 'vitest'
import type { PublishInput } from '../../src/index.ts'
import { range } from '../support/frames.ts'
import { shown } from '../support/shown.ts'
import { beforeNext, nextFrame, publish, publishEvent, Reports, read, type World } from './world.ts'

const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic

const throwing = (key: string) =>
  Object.defineProperty({ type: 'a', data: 1 }, key, {
    enumerable: true,
    get: () => {
      throw new Error('getter')
    },
  })

const refused: [reason: string, inputs: unknown[]][] = [
  [
    'invalid_input',
    [undefined, null, 5, 'a', true, () => {}, throwing('type'), throwing('data'), throwing('extra')],
  ],
  ['invalid_type', [{}, { type: '' }, { type: 5 }, { type: 'a\nb' }, { type: 'a\rb' }, { type: 'a\0' }]],
  [
    'reserved_type',
    [
      'slow_client_warning',
      'client_evicted',
      'state_resync_required',
      'replay_complete',
      'stream_error',
      'cursor',
    ].map((type) => ({ type })),
  ],
]

/** JSON cannot carry it. */
const unserialisable = [
  1n,
  cyclic,
  {
    toJSON: () => {
      throw new Error('toJSON')
    },
  },
]

export function publishing({ open, busWith, has }: World): void {
  describe('ids', () => {
    it('run 1, 2, 3 … and the bus shows the last one', async () => {
      const { bus } = await open()
      expect([bus.lastEventId, bus.earliestAvailableId]).toEqual([0, 1])
      for (const id of [1, 2, 3]) {
        expect(await publish(bus, 1)).toEqual([id])
        expect(bus.lastEventId).toBe(id)
      }
      expect(bus.earliestAvailableId).toBe(1)
    })

    it('begin anew with each log', async () => {
      await busWith(4)
      expect(await publish((await open()).bus, 2)).toEqual([1, 2])
    })

    it('of publishes that overlap are one row, in which every publisher has its own', async () => {
      const { bus } = await open()
      const subscription = bus.subscribe()
      const inputs = range(1, 30).map((data) => ({ type: 'tick', data }))
      const events = await Promise.all(inputs.map((input) => publishEvent(bus, input)))
      expect(events.map((event) => event.data)).toEqual(inputs.map((input) => input.data))
      const ordered = [...events].sort((a, b) => a.id - b.id)
      expect(ordered.map((event) => event.id)).toEqual(range(1, 30))
      for (const event of ordered) expect(await nextFrame(subscription)).toEqual(event)
    })

    it('of events published inside a filter are in order for everybody', async () => {
      const { bus } = await open()
      const before = bus.subscribe()
      let nested: unknown
      bus.subscribe({
        filter: (event) => {
          if (event.type === 'tick') nested = bus.publish({ type: 'nested' })
          return false
        },
      })
      const after = bus.subscribe()
      await publish(bus, 1)
      expect(await nested).toMatchObject({ id: 2, type: 'nested' })
      for (const subscription of [before, after]) expect(await read(subscription, 2)).toEqual([1, 2])
    })
  })

  describe('who gets an event', () => {
    it('who subscribed before it was published, though nobody reads yet', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe()
      await publish(bus, 3)
      expect(subscription.queued).toBe(3)
      expect(await read(subscription, 3)).toEqual([3, 4, 5])
    })

    it('not who subscribes without a cursor once it was', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe()
      expect(subscription.queued).toBe(0)
      expect(await beforeNext(bus, subscription)).toEqual([])
    })

    it('a reader that waits', async () => {
      const { bus } = await open()
      const next = bus.subscribe().next()
      const event = await publishEvent(bus, { type: 'a', data: { n: 1 } })
      expect(await next).toEqual({ value: event, done: false })
    })
  })

  describe('what cannot be an event', () => {
    describe.each(refused)('%s', (reason, inputs) => {
      it.each(shown(inputs))('is refused, uses no id and is reported: %s', async (_shown, input) => {
        const reports = new Reports()
        const { bus } = await open(reports)
        const subscription = bus.subscribe()
        expect(await publish(bus, 1)).toEqual([1])
        expect(await bus.publish(input as PublishInput)).toBeUndefined()
        expect(bus.lastEventId).toBe(1)
        expect((await reports.first('event_rejected'))[0]).toMatchObject({ reason })
        expect(await publish(bus, 1)).toEqual([2])
        expect(await read(subscription, 2)).toEqual([1, 2])
        expect(bus.stats()).toMatchObject({ published: 2, rejected: 1 })
      })
    })

    it.each(shown(unserialisable))('with a byte cap, what JSON cannot carry: %s', async (_shown, data) => {
      const reports = new Reports()
      const { bus } = await open({ maxRingBytes: 10_000, onDiagnostic: reports.onDiagnostic })
      expect(await bus.publish({ type: 'a', data })).toBeUndefined()
      expect(await reports.first('event_rejected')).toEqual([
        { type: 'event_rejected', reason: 'not_serialisable', eventType: 'a' },
      ])
      expect(await publish(bus, 1)).toEqual([1])
    })

    it.each(shown(unserialisable))('without a cap, the same where data travels: %s', async (_shown, data) => {
      const { bus } = await open()
      const event = await bus.publish({ type: 'a', data })
      if (has('any data')) expect(event?.data).toBe(data)
      else expect(event).toBeUndefined()
      expect(await publish(bus, 1)).toEqual([has('any data') ? 2 : 1])
    })

    it('is named by its type where that could be one', async () => {
      const reports = new Reports()
      const { bus } = await open(reports)
      await bus.publish({ type: 'cursor' })
      await bus.publish({ type: 'a\nb' })
      expect(await reports.first('event_rejected', 2)).toEqual([
        { type: 'event_rejected', reason: 'reserved_type', eventType: 'cursor' },
        { type: 'event_rejected', reason: 'invalid_type' },
      ])
    })
  })

  it('goes on where onDiagnostic throws', async () => {
    const { bus } = await open({
      onDiagnostic: () => {
        throw new Error('broken callback')
      },
    })
    const subscription = bus.subscribe({ lastEventId: 9 })
    expect(await bus.publish({ type: '' })).toBeUndefined()
    await read(subscription, 2)
    await publish(bus, 1)
    expect(await read(subscription, 1)).toEqual([1])
  })
}
