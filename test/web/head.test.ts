import { describe, expect, it } from 'vitest'
import { heard } from '../support/http-client.ts'
import { makeBus, publishNotes, surfaces } from '../support/http-surfaces.ts'
import { settle, until } from '../support/until.ts'

const WRITTEN_BY_NODE = ['date', 'connection', 'keep-alive', 'transfer-encoding']

describe.each(surfaces)('the head of a stream ($name)', ({ open }) => {
  it('has status 200 and exactly the three headers', async () => {
    const stream = await open(makeBus())
    expect(stream.status).toBe(200)
    const own = [...stream.headers].filter(([name]) => !WRITTEN_BY_NODE.includes(name))
    expect(Object.fromEntries(own)).toEqual({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
  })

  it('never has a content coding or length, also when there is little to say', async () => {
    const bus = makeBus()
    bus.close()
    const stream = await open(bus)
    expect(stream.status).toBe(200)
    expect(stream.headers.get('content-encoding')).toBe(null)
    expect(stream.headers.get('content-length')).toBe(null)
  })

  it('takes further headers from the options', async () => {
    const stream = await open(makeBus(), { headers: { 'X-Stream': 'a', 'Set-Cookie': 'k=v' } })
    expect(stream.headers.get('x-stream')).toBe('a')
    expect(stream.headers.get('set-cookie')).toBe('k=v')
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
  })

  it('merges them whatever their case, so that none is doubled', async () => {
    const headers = {
      'CACHE-control': 'no-store, no-transform',
      'content-TYPE': 'text/event-stream; charset=utf-8',
    }
    const stream = await open(makeBus(), { headers })
    expect(stream.headers.get('cache-control')).toBe('no-store, no-transform')
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  })

  it('comes with `retry:` and the cursor before any event was published', async () => {
    const bus = makeBus()
    const stream = await open(bus)
    await heard(stream, (t) => t.items.length >= 2)
    expect(bus.lastEventId).toBe(0)
    expect(stream.transcript.text.startsWith('retry: 3000\n\n')).toBe(true)
    expect(stream.transcript.said).toEqual(['retry 3000', 'cursor e1:0'])
  })

  it('is all that HEAD gets, and subscribes nobody for long', async () => {
    const bus = makeBus()
    publishNotes(bus, 3)
    const stream = await open(bus, {}, { method: 'HEAD', headers: { 'Last-Event-ID': 'e1:0' } })
    expect(stream.status).toBe(200)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('cache-control')).toBe('no-cache, no-transform')
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    await until(() => stream.ended, 'the end')
    await until(() => bus.subscriberCount === 0, 'no subscriber')
    expect(stream.transcript.text).toBe('')
  })
})

describe.each(surfaces)('the reconnection time ($name)', ({ open }) => {
  const retryOf = async (retryMs?: number | [number, number]) => {
    const stream = await open(makeBus(), retryMs === undefined ? {} : { retryMs })
    await heard(stream, (t) => t.cursors.length === 1)
    const [first] = stream.transcript.items
    stream.leave()
    return first?.kind === 'retry' ? first.ms : undefined
  }

  it('is 3000 ms by default', async () => expect(await retryOf()).toBe(3000))

  it('is what `retryMs` says', async () => expect(await retryOf(250)).toBe(250))

  it('is not mentioned with `retryMs: 0`', async () => expect(await retryOf(0)).toBe(undefined))

  it('is drawn for each client out of [min, max]', async () => {
    const drawn: number[] = []
    for (let client = 0; client < 12; client++) drawn.push((await retryOf([1000, 9000])) ?? -1)
    for (const ms of drawn) {
      expect(Number.isInteger(ms)).toBe(true)
      expect(ms).toBeGreaterThanOrEqual(1000)
      expect(ms).toBeLessThanOrEqual(9000)
    }
    expect(new Set(drawn).size, `${drawn}`).toBeGreaterThan(3)
  })

  it('is exact where min and max agree', async () => expect(await retryOf([700, 700])).toBe(700))
})

describe('a fetch response', () => {
  it('is there before anything was published, and its first read resolves', async () => {
    const { sseResponse } = await import('../../src/web/index.ts')
    const response = sseResponse(makeBus(), new Request('http://host/'))
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toMatch(/^retry: 3000\n\n/)
    await reader.cancel()
    await settle()
  })
})
