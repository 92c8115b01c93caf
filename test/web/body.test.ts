import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { sseResponse } from '../../src/web/index.ts'
import type { RequestShape } from '../support/http-client.ts'
import {
  type CloseInfo,
  fakeClock,
  makeBus,
  publishNotes,
  type SseOptions,
  webRequest,
} from '../support/http-surfaces.ts'
import { idsFrom, isWholeFrames, Transcript } from '../support/http-transcript.ts'
import { settle, until } from '../support/until.ts'

type Bus = ReturnType<typeof makeBus>

/** A response whose body is read only as the test reads it. */
function opened(bus: Bus, options: SseOptions = {}, request: RequestShape = {}, signal?: AbortSignal) {
  const closes: CloseInfo[] = []
  const asked = webRequest(request, signal)
  const response = sseResponse(bus, asked, {
    ...options,
    onClose: (info) => closes.push(info),
  })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const transcript = new Transcript()
  const chunks: string[] = []
  const read = async () => {
    const { done, value } = await reader.read()
    if (value) {
      transcript.feed(value)
      chunks.push(Buffer.from(value).toString())
    }
    return !done
  }
  return {
    response,
    listeners: () => getEventListeners(asked.signal, 'abort').length,
    reader,
    transcript,
    chunks,
    closes,
    read,
    readUntil: async (condition: () => boolean) => {
      while (!condition() && (await read())) {}
    },
    readAll: async () => {
      while (await read()) {}
    },
  }
}

describe('a body', () => {
  it('is made of whole frames, chunk by chunk, at most 64 KiB each', async () => {
    const bus = makeBus()
    publishNotes(bus, 300, '€'.repeat(200))
    const stream = opened(bus, {}, { headers: { 'Last-Event-ID': '0' } })
    await stream.readUntil(() => stream.transcript.control('replay_complete').length > 0)
    expect(stream.chunks.every(isWholeFrames)).toBe(true)
    expect(Math.max(...stream.chunks.map((chunk) => Buffer.byteLength(chunk)))).toBeLessThanOrEqual(65_536)
    expect(stream.transcript.ids).toEqual(idsFrom(1, 300))
    await stream.reader.cancel()
  })

  it('is pulled, never pushed: nothing is taken from the queue before somebody reads', async () => {
    const bus = makeBus()
    const stream = opened(bus)
    publishNotes(bus, 5)
    await settle()
    expect(bus.stats().subscribers[0]?.queued).toBe(5)
    await stream.reader.cancel()
  })

  it('that nobody reads holds what the queue may hold, and ends with the eviction when it is read', async () => {
    const bus = makeBus()
    const stream = opened(bus, { maxQueued: 10 })
    publishNotes(bus, 1000, 'x'.repeat(1024))
    expect(bus.stats().evicted).toBe(1)
    expect(bus.subscriberCount).toBe(0)
    await stream.readAll()
    expect(stream.transcript.ids).toEqual(idsFrom(1, 10))
    expect(stream.transcript.control('client_evicted')).toMatchObject([
      { reason: 'queue_overflow', droppedAfter: 10, maxQueued: 10 },
    ])
    expect(stream.closes.map(({ reason }) => reason)).toEqual(['evicted'])
  })

  it('that waits for a read is handed an event at once', async () => {
    const bus = makeBus()
    const stream = opened(bus, { maxQueued: 1 })
    await stream.readUntil(() => stream.transcript.cursors.length > 0)
    for (let n = 1; n <= 20; n++) {
      const reading = stream.readUntil(() => stream.transcript.ids.length === n)
      await settle(1)
      publishNotes(bus, 1)
      await reading
    }
    expect(bus.stats()).toMatchObject({ evicted: 0, warned: 0 })
    await stream.reader.cancel()
  })

  it('hands over its chunks as bytes', async () => {
    const stream = opened(makeBus())
    const { value } = await stream.reader.read()
    expect(value).toBeInstanceOf(Uint8Array)
    await stream.reader.cancel()
  })
})

describe('the subscriber of a body is freed at once, exactly once, when', () => {
  const ways: Record<string, (stream: ReturnType<typeof opened>, controller: AbortController) => unknown> = {
    'it is cancelled': (stream) => stream.reader.cancel(),
    'it is cancelled while a read waits': async (stream) => {
      await stream.readUntil(() => stream.transcript.cursors.length > 0)
      const reading = stream.reader.read()
      await settle(1)
      await stream.reader.cancel('gone')
      await reading
    },
    'its request is aborted': (_stream, controller) => controller.abort(),
    'its request is aborted while a read waits': async (stream, controller) => {
      await stream.readUntil(() => stream.transcript.cursors.length > 0)
      void stream.reader.read().catch(() => {})
      await settle(1)
      controller.abort()
    },
  }

  it.each(Object.entries(ways))('%s', async (_name, leave) => {
    const bus = makeBus()
    const controller = new AbortController()
    const stream = opened(bus, {}, {}, controller.signal)
    expect(bus.subscriberCount).toBe(1)
    await leave(stream, controller)
    await until(() => bus.subscriberCount === 0, 'no subscriber', 1000)
    publishNotes(bus, 3)
    await stream.reader.cancel().catch(() => {})
    await settle()
    expect(stream.closes.map(({ reason }) => reason)).toEqual(['disconnected'])
    expect(stream.listeners()).toBe(0)
  })

  it('its request had been aborted before', async () => {
    const bus = makeBus()
    const stream = opened(bus, {}, {}, AbortSignal.abort())
    await settle()
    expect(bus.subscriberCount).toBe(0)
    await stream.reader.cancel().catch(() => {})
  })
})

describe('a body that nobody pulls', () => {
  it('is cancelled after `stallTimeoutMs`, 30 s by default', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = opened(bus)
    await settle()
    await clock.pass(29_000)
    expect(bus.subscriberCount).toBe(1)
    await clock.pass(31_500)
    expect(bus.subscriberCount).toBe(0)
    await until(() => stream.closes.length > 0)
    expect(stream.closes.map(({ reason }) => reason)).toEqual(['stalled'])
    expect(clock.timers).toBe(0)
  })

  it('is cancelled in the middle as well, and a later read does not hang', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = opened(bus, { stallTimeoutMs: 1000, heartbeatMs: 0 })
    await stream.readUntil(() => stream.transcript.cursors.length > 0)
    await clock.pass(2500)
    expect(bus.subscriberCount).toBe(0)
    expect(stream.closes.map(({ reason }) => reason)).toEqual(['stalled'])
    await stream.readAll().catch(() => {})
    expect(stream.transcript.ids).toEqual([])
  })

  it('is cancelled though nothing was to be said to it yet', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = opened(
      bus,
      { stallTimeoutMs: 1000, heartbeatMs: 0, retryMs: 0, format: () => undefined },
      { headers: { 'Last-Event-ID': '0' } },
    )
    await settle()
    await clock.pass(2500)
    expect(bus.subscriberCount).toBe(0)
    expect(stream.closes.map(({ reason }) => reason)).toEqual(['stalled'])
  })

  it('is kept with `stallTimeoutMs: 0`', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = opened(bus, { stallTimeoutMs: 0 })
    await clock.pass(600_000)
    expect(bus.subscriberCount).toBe(1)
    await stream.reader.cancel()
  })

  it('is another thing than one whose reader waits and is given nothing', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = opened(bus, { stallTimeoutMs: 1000, heartbeatMs: 0 })
    await stream.readUntil(() => stream.transcript.cursors.length > 0)
    const reading = stream.readUntil(() => stream.transcript.ids.length > 0)
    await settle()
    await clock.pass(60_000)
    expect(bus.subscriberCount).toBe(1)
    publishNotes(bus, 1)
    await reading
    expect(stream.transcript.ids).toEqual([1])
    await stream.reader.cancel()
  })

  it('is ended by the close of its bus within `closeTimeoutMs`, and then leaves no timer', async () => {
    const clock = fakeClock()
    const bus = makeBus()
    const stream = opened(bus, { heartbeatMs: 100 })
    await settle()
    publishNotes(bus, 3)
    bus.close()
    await clock.pass(600)
    await settle()
    expect(stream.closes.map(({ reason }) => reason)).toEqual(['closed'])
    expect(clock.timers).toBe(0)
  })
})

describe('a long run', () => {
  it('adds neither memory nor listeners with each event', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const bus = makeBus({ ringSize: 16 })
    const controller = new AbortController()
    const stream = opened(bus, { signal: controller.signal })
    const reader = stream.reader
    const rounds = async (count: number) => {
      for (let n = 0; n < count; n++) {
        const reading = reader.read()
        bus.publish({ type: 'note', data: n })
        await reading
      }
      collect()
      return process.memoryUsage().heapUsed
    }
    await rounds(2000)
    const before = await rounds(500)
    const listeners = getEventListeners(controller.signal, 'abort').length
    const after = await rounds(15_000)
    expect(after - before).toBeLessThan(1_048_576)
    expect(getEventListeners(controller.signal, 'abort').length).toBe(listeners)
    expect(listeners).toBeLessThanOrEqual(2)
    await reader.cancel()
  })
})
