import { describe, expect, it } from 'vitest'
import { heard } from '../support/http-client.ts'
import { makeBus, type SseOptions, surfaces } from '../support/http-surfaces.ts'
import { until } from '../support/until.ts'

describe.each(surfaces)('`maxQueuedParam` ($name)', ({ open }) => {
  const capOf = async (path: string, options: SseOptions) => {
    const bus = makeBus()
    const stream = await open(bus, options, { path })
    await heard(stream, (t) => t.cursors.length > 0)
    const cap = bus.stats().subscribers[0]?.maxQueued
    stream.leave()
    return cap
  }

  it('is off by default: the query decides nothing', async () => {
    expect(await capOf('/?maxQueued=16', {})).toBe(256)
  })

  it.each([16, 17, 2048])('takes %i', async (n) => {
    expect(await capOf(`/?q=${n}`, { maxQueuedParam: 'q' })).toBe(n)
  })

  it('leaves the cap alone where the request does not name it', async () => {
    expect(await capOf('/?other=16', { maxQueuedParam: 'q' })).toBe(256)
    expect(await capOf('/', { maxQueuedParam: 'q', maxQueued: 7 })).toBe(7)
  })

  it.each(['15', '2049', '0', '-16', '16.5', '1e2', 'many', 'Infinity', '0x20'])(
    'answers %s with 400 and subscribes nobody',
    async (value) => {
      const bus = makeBus()
      const stream = await open(bus, { maxQueuedParam: 'q' }, { path: `/?q=${value}` })
      expect(stream.status).toBe(400)
      expect(stream.headers.get('content-type') ?? '').not.toContain('event-stream')
      await until(() => stream.ended || stream.torn || stream.headers.has('content-length'))
      expect(bus.subscriberCount).toBe(0)
    },
  )
})
