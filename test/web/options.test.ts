import { describe, expect, it } from 'vitest'
import { sseResponse } from '../../src/web/index.ts'
import { badOptions, complaint } from '../support/http-bad-options.ts'
import { makeBus, type SseOptions, WebStream, webRequest } from '../support/http-surfaces.ts'
import { settle } from '../support/until.ts'

const thrown = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    return error
  }
  return 'nothing was thrown'
}

describe('`sseResponse` throws for', () => {
  it.each(badOptions)('%s: %o', async (name, value, kind) => {
    const bus = makeBus()
    const options = { [name]: value } as SseOptions
    const error = thrown(() => sseResponse(bus, webRequest(), options))
    expect(error).toMatchObject(complaint(name, kind))
    expect(bus.subscriberCount).toBe(0)
    await settle(1)
    expect(bus.diagnostics).toEqual([])
  })

  it('options that are no object', () => {
    const bus = makeBus()
    for (const options of [null, 7, 'x'] as unknown as SseOptions[]) {
      expect(thrown(() => sseResponse(bus, webRequest(), options))).toMatchObject(
        complaint('options', 'TypeError'),
      )
    }
  })

  it('a bus or a request that is none', () => {
    const bus = makeBus()
    expect(thrown(() => sseResponse(null as never, webRequest()))).toMatchObject(
      complaint('bus', 'TypeError'),
    )
    expect(thrown(() => sseResponse({} as never, webRequest()))).toMatchObject(complaint('bus', 'TypeError'))
    expect(thrown(() => sseResponse(bus, null as never))).toMatchObject(complaint('request', 'TypeError'))
    expect(thrown(() => sseResponse(bus, {} as never))).toMatchObject(complaint('request', 'TypeError'))
  })

  it('bad options also where a cursor, the limit or the end of the bus would have decided', () => {
    const bus = makeBus({ maxSubscribers: 1 })
    bus.close()
    expect(thrown(() => sseResponse(bus, webRequest(), { heartbeatMs: -1 }))).toMatchObject(
      complaint('heartbeatMs', 'RangeError'),
    )
    expect(
      thrown(() =>
        sseResponse(bus, webRequest({ headers: { 'Last-Event-ID': '0' } }), { from: 'latest' } as never),
      ),
    ).toMatchObject(complaint('from', 'RangeError'))
  })
})

describe('`sseResponse` takes', () => {
  it('no options at all, undefined ones, and extremes', async () => {
    const bus = makeBus()
    const good: (SseOptions | undefined)[] = [
      undefined,
      {},
      {
        heartbeatMs: undefined,
        headers: undefined,
        format: undefined,
        from: undefined,
        signal: undefined,
      } as SseOptions,
      { heartbeatMs: Infinity, stallTimeoutMs: Infinity, closeTimeoutMs: Infinity, maxQueued: Infinity },
      { heartbeatMs: 0, stallTimeoutMs: 0, closeTimeoutMs: 0, retryMs: 0 },
      { heartbeatMs: 3e9, stallTimeoutMs: 3e9, closeTimeoutMs: 3e9, maxQueuedBytes: Infinity },
      { retryMs: [0, 0] },
    ]
    for (const options of good) {
      const stream = new WebStream(sseResponse(bus, webRequest(), options))
      expect(stream.status).toBe(200)
      stream.leave()
    }
  })
})
