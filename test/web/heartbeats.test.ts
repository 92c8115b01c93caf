import { describe, expect, it } from 'vitest'
import type { Frame, Subscription } from '../../src/index.ts'
import { ended, heard, type Stream } from '../support/http-client.ts'
import { busLike, fakeClock, hearMarker, makeBus, publishNotes, surfaces } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

const started = (stream: Stream) => heard(stream, (t) => t.cursor !== undefined || t.ids.length > 0)

describe.each(surfaces)('a heartbeat ($name)', ({ open }) => {
  it('is a comment every 8 s by default, and no message', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus)
    await started(stream)
    await clock.pass(7900)
    await settle()
    expect(stream.transcript.comments).toEqual([])
    await clock.pass(8200)
    await heard(stream, (t) => t.comments.length >= 1)
    await clock.pass(24_000)
    await heard(stream, (t) => t.comments.length >= 3)
    await clock.pass(60_000)
    await hearMarker(bus, stream)
    expect(stream.transcript.comments.length).toBeLessThanOrEqual(12)
    expect(stream.transcript.blocks.map(({ event }) => event)).toEqual(['marker'])
  })

  it('is a named event with a data line and without an id where `heartbeatEvent` says so', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus, { heartbeatMs: 100, heartbeatEvent: 'heartbeat' })
    await started(stream)
    for (let beat = 1; beat <= 3; beat++) {
      await clock.pass(210)
      await heard(stream, (t) => t.blocks.length >= beat)
    }
    expect(stream.transcript.comments).toEqual([])
    for (const block of stream.transcript.blocks) {
      expect(block).toMatchObject({ event: 'heartbeat', data: expect.any(String) })
      expect(block).not.toHaveProperty('id')
    }
    expect(stream.transcript.cursor).toBe('e1:0')
  })

  it('is counted from the last byte: a busy stream has none', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus, { heartbeatMs: 100 })
    await started(stream)
    for (let n = 1; n <= 12; n++) {
      await clock.pass(60)
      await hearMarker(bus, stream)
    }
    expect(stream.transcript.comments).toEqual([])
    await clock.pass(210)
    await heard(stream, (t) => t.comments.length >= 1)
  })

  it('is not asked for by `heartbeatMs: 0` or Infinity', async () => {
    const clock = fakeClock()
    for (const heartbeatMs of [0, Infinity]) {
      const bus = makeBus()
      const stream = await open(bus, { heartbeatMs })
      await started(stream)
      await clock.pass(120_000)
      await hearMarker(bus, stream)
      expect(stream.transcript.comments).toEqual([])
    }
  })

  it('comes during a replay that is slow to produce its events, too', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    publishNotes(bus, 3)
    const gate = gated(bus.subscribe({ lastEventId: 0 }))
    const slow = busLike(bus, { subscribe: () => gate.subscription })
    const stream = await open(slow, { heartbeatMs: 100 }, { headers: { 'Last-Event-ID': 'e1:0' } })
    gate.give(1)
    await heard(stream, (t) => t.ids.length === 1)
    await clock.pass(210)
    await heard(stream, (t) => t.comments.length >= 1)
    gate.give(3)
    await heard(stream, (t) => t.control('replay_complete').length === 1)
    expect(stream.transcript.ids).toEqual([1, 2, 3])
    stream.leave()
    await gate.subscription.return()
  })

  it('leaves no timer behind when the stream is over', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const left = await open(bus, { heartbeatMs: 100 })
    await started(left)
    expect(clock.timers).toBeGreaterThan(0)
    left.leave()
    await until(() => bus.subscriberCount === 0)
    await settle()
    expect(clock.timers).toBe(0)

    const closed = await open(bus, { heartbeatMs: 100 })
    await started(closed)
    bus.close()
    await ended(closed)
    await settle()
    expect(clock.timers).toBe(0)
    await clock.pass(1000)
    expect(closed.transcript.comments).toEqual([])
  })

  it('may be longer than a timer can count', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = await open(bus, { heartbeatMs: 3e9 })
    await started(stream)
    await clock.pass(2.9e9)
    await settle()
    expect(stream.transcript.comments).toEqual([])
    await clock.pass(2e8)
    await heard(stream, (t) => t.comments.length === 1)
  })
})

/** A subscription that hands out its frames only as they are given free, as one on a remote backend does. */
function gated(inner: Subscription<Frame>) {
  let free = 0
  let wake: (() => void)[] = []
  const next = async (): Promise<IteratorResult<Frame, undefined>> => {
    while (free === 0) await new Promise<void>((resolve) => wake.push(resolve))
    free--
    return inner.next()
  }
  const gate: Partial<Subscription<Frame>> = {
    next,
    receive: (resolve, reject) => void next().then(resolve, reject),
    tryNext: () => {
      if (free === 0) return undefined
      free--
      return inner.tryNext()
    },
  }
  const subscription = new Proxy(inner, {
    get: (_target, key) => {
      const value: unknown = Reflect.get(key in gate ? gate : inner, key)
      return typeof value === 'function' ? value.bind(inner) : value
    },
  })
  return {
    subscription,
    give: (frames: number) => {
      free += frames
      for (const resolve of wake) resolve()
      wake = []
    },
  }
}
