import { expect, it, vi } from 'vitest'

import { AwaitService, subscribe } from '../../src/router/index.ts'
import { sseResponse } from '../../src/web/index.ts'
import { range } from '../support/frames.ts'
import { node, publish } from '../support/redis-bus.ts'
import { meddled } from '../support/redis-client.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until, within } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

/** A node that has nothing of the stream in memory, and whose pages come when they are released. */
async function waiting(options = {}) {
  const server = await RedisServer.start()
  const other = await node(server.url)
  const events = await publish(other.bus, 5)
  await other.bus.publish({ type: 'reply.accept' })
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const client = meddled(server.url, async (args, send) => {
    if (args[0] === 'XRANGE') await released
    return send(args)
  })
  const { bus } = await node(server.url, { client, ...options })
  return { bus, other: other.bus, events, release }
}

describeOnRedis('whoever waits for a replay that is read from Redis', () => {
  it('is not sent away by live traffic meanwhile: SSE', async () => {
    const { bus, other, release } = await waiting({ maxQueued: 4 })
    const headers = { 'last-event-id': `${bus.epoch}:1` }
    const response = sseResponse(bus, new Request('http://localhost/', { headers }))
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let text = ''
    const ids = () => [...text.matchAll(/^id: \S+:(\d+)$/gm)].map(([, id]) => Number(id))
    const reading = (async () => {
      while (ids().length < 15) {
        const { value, done } = await reader.read()
        if (done) break
        text += decoder.decode(value)
      }
    })()
    await publish(other, 10)
    await until(() => bus.lastEventId === 16 && bus.subscriberCount === 0)
    release()
    await within(reading, 'the whole of the replay')
    expect(ids()).toEqual(range(2, 16))
    expect(text).not.toContain('client_evicted')
    await reader.cancel()
  })

  it('gets it though the bus is ended meanwhile: SSE, a handler, a wait', async () => {
    const { bus, other, release } = await waiting()
    const headers = { 'last-event-id': `${bus.epoch}:1` }
    const response = sseResponse(bus, new Request('http://localhost/', { headers }))
    const seen: number[] = []
    subscribe(bus, { lastEventId: 0 }, ({ id }) => seen.push(id))
    const waits = new AwaitService(bus)
    const reply = waits.await({ type: 'reply.*', since: 0 })
    await other.end()
    await until(() => bus.ended)
    release()
    const text = await within(response.text(), 'the stream to end')
    expect([...text.matchAll(/^id: \S+:(\d+)$/gm)].map(([, id]) => Number(id))).toEqual(range(2, 6))
    expect(text).toContain('replay_complete')
    await until(() => seen.length === 6)
    expect(seen).toEqual(range(1, 6))
    expect((await within(reply, 'the reply')).event.id).toBe(6)
  })

  it('is not overtaken by more replies than its queue has room for: a wait', async () => {
    const { bus, other, release } = await waiting({ maxQueued: 4 })
    const reply = new AwaitService(bus).await({ type: 'reply.*', path: 'mine', since: 0 })
    for (let n = 0; n < 8; n++) await other.publish({ type: 'reply.accept', path: 'other' })
    const mine = await other.publish({ type: 'reply.accept', path: 'mine' })
    await until(() => bus.lastEventId === mine?.id)
    release()
    expect((await within(reply, 'the reply')).event).toEqual(mine)
  })
})
