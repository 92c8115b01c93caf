import { describe, expect, it } from 'vitest'
import { ended, heard, over } from '../support/http-client.ts'
import {
  type AnyBus,
  busLike,
  type CloseInfo,
  fakeClock,
  makeBus,
  type OpenInfo,
  publishNotes,
  type SseOptions,
  surfaces,
} from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

const behind = (cursor: string) => ({ headers: { 'Last-Event-ID': cursor } })

function hooks() {
  const opens: OpenInfo[] = []
  const closes: CloseInfo[] = []
  const options: SseOptions = { onOpen: (info) => opens.push(info), onClose: (info) => closes.push(info) }
  const closed = () => until(() => closes.length > 0, 'onClose')
  return { opens, closes, options, closed }
}

describe.each(surfaces)('`onOpen` ($name)', ({ open }) => {
  it.each([
    ['none', false],
    ['junk', false],
    ['e1:1', true],
  ])('is called once and tells whether the client resumed (cursor: %s)', async (cursor, resumed) => {
    const bus = makeBus()
    publishNotes(bus, 2)
    const { opens, options } = hooks()
    const stream = await open(bus, options, cursor === 'none' ? {} : behind(cursor))
    await heard(stream, (t) => t.cursor !== undefined)
    expect(opens).toHaveLength(1)
    expect(opens[0]).toMatchObject({ resumed })
    expect(opens[0]).toHaveProperty('cursor')
  })

  it('that throws does no harm', async () => {
    const bus = makeBus()
    const stream = await open(bus, {
      onOpen: () => {
        throw new Error('hook failed')
      },
    })
    await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 1)
    await heard(stream, (t) => t.ids.length === 1)
    expect(bus.diagnostics).toMatchObject([{ type: 'callback_error', error: { message: 'hook failed' } }])
  })
})

describe.each(surfaces)('`onClose` is called once ($name)', ({ open }) => {
  it('with what was written: frames, bytes, the last id', async () => {
    const bus = makeBus()
    publishNotes(bus, 2)
    const { closes, options, closed } = hooks()
    const stream = await open(bus, options, behind('e1:0'))
    await heard(stream, (t) => t.control('replay_complete').length > 0)
    publishNotes(bus, 1)
    bus.close()
    await ended(stream)
    await closed()
    await settle()
    expect(closes).toHaveLength(1)
    expect(closes[0]).toMatchObject({ reason: 'closed', lastId: 3, bytes: stream.transcript.bytes })
    // `retry:` may be counted as a frame or not; the three events and replay_complete are.
    expect([4, 5]).toContain(closes[0]?.frames)
  })

  const ending: [CloseInfo['reason'], (bus: ReturnType<typeof makeBus>) => Promise<CloseInfo[]>][] = [
    [
      'disconnected',
      async (bus) => {
        const { closes, options, closed } = hooks()
        const stream = await open(bus, options)
        await heard(stream, (t) => t.cursors.length > 0)
        stream.leave()
        await closed()
        return closes
      },
    ],
    [
      'aborted',
      async (bus) => {
        const { closes, options, closed } = hooks()
        const controller = new AbortController()
        const stream = await open(bus, { ...options, signal: controller.signal })
        await heard(stream, (t) => t.cursors.length > 0)
        controller.abort()
        await ended(stream)
        await closed()
        return closes
      },
    ],
    [
      'evicted',
      async (bus) => {
        const { closes, options, closed } = hooks()
        const stream = await open(bus, { ...options, maxQueued: 4 })
        await heard(stream, (t) => t.cursors.length > 0)
        publishNotes(bus, 20)
        await ended(stream)
        await closed()
        expect(stream.transcript.control('client_evicted')).toHaveLength(1)
        return closes
      },
    ],
    [
      'ended',
      async (bus) => {
        const { closes, options, closed } = hooks()
        const stream = await open(bus, options)
        await heard(stream, (t) => t.cursors.length > 0)
        bus.end()
        await ended(stream)
        await closed()
        return closes
      },
    ],
    [
      'closed',
      async (bus) => {
        const { closes, options, closed } = hooks()
        const stream = await open(bus, options)
        await heard(stream, (t) => t.cursors.length > 0)
        bus.close()
        await ended(stream)
        await closed()
        return closes
      },
    ],
    [
      'error',
      async (bus) => {
        const { closes, options, closed } = hooks()
        const failing: AnyBus = busLike(bus, {
          subscribe: (subscribeOptions) => {
            const subscription = bus.subscribe(subscribeOptions)
            const fail = () => {
              void subscription.return()
              throw new Error('backend failed')
            }
            return Object.defineProperties(subscription, {
              tryNext: { value: fail },
              next: { value: async () => fail() },
              batches: { value: fail },
            })
          },
        })
        const stream = await open(failing, options)
        await over(stream)
        await closed()
        return closes
      },
    ],
  ]

  it.each(ending)('with the reason `%s`', async (reason, end) => {
    const closes = await end(makeBus())
    await settle()
    expect(closes.map((info) => info.reason)).toEqual([reason])
  })

  it('with the reason `limit`', async () => {
    const bus = makeBus({ maxSubscribers: 1 })
    await heard(await open(bus), (t) => t.cursors.length > 0)
    const { closes, options, closed } = hooks()
    await ended(await open(bus, options))
    await closed()
    await settle()
    expect(closes.map((info) => info.reason)).toEqual(['limit'])
  })

  it('with the last id a client has, also one that only a cursor block told', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const { closes, options, closed } = hooks()
    const stream = await open(bus, { ...options, heartbeatMs: 100, filter: () => false })
    await heard(stream, (t) => t.cursors.length === 1)
    publishNotes(bus, 4)
    await clock.pass(250)
    await heard(stream, (t) => t.cursors.length === 2)
    stream.leave()
    await closed()
    expect(closes[0]?.lastId).toBe(4)
  })

  it('and may throw', async () => {
    const bus = makeBus()
    const stream = await open(bus, {
      onClose: () => {
        throw new Error('hook failed')
      },
    })
    await heard(stream, (t) => t.cursors.length > 0)
    bus.close()
    await ended(stream)
    expect(bus.subscriberCount).toBe(0)
  })
})
