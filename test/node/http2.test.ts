import { describe, expect, it } from 'vitest'
import { heard } from '../support/http-client.ts'
import { type CloseInfo, http2Open, makeBus, publishNotes, serveBus } from '../support/http-surfaces.ts'
import { idsFrom } from '../support/http-transcript.ts'
import { settle, until, within } from '../support/until.ts'

const LARGE = 'x'.repeat(65_536)

describe('a client that stops reading its HTTP/2 stream', () => {
  const stuck = async (stallTimeoutMs: number) => {
    const bus = makeBus({ maxQueued: 10_000 })
    const closes: CloseInfo[] = []
    const options = { heartbeatMs: 0, stallTimeoutMs, onClose: (info: CloseInfo) => closes.push(info) }
    const server = await serveBus(bus, options, { http2: true })
    const client = await http2Open(server.port)
    await heard(client, (t) => t.cursors.length > 0)
    client.stream.pause()
    publishNotes(bus, 50, LARGE)
    await settle(5)
    return { bus, closes, server, client }
  }

  it('is destroyed once nothing has moved for `stallTimeoutMs`', async () => {
    const { bus, closes, server, client } = await stuck(150)
    await until(() => closes.length > 0)
    expect(closes.map(({ reason }) => reason)).toEqual(['stalled'])
    expect(bus.subscriberCount).toBe(0)
    await within((await server.exchange()).done, 'serveSse to settle')
    client.stream.resume()
    await until(() => client.closed)
    expect(client.transcript.ids.length).toBeLessThan(50)
  })

  it('holds up nobody else on the server, and gets everything once it reads on', async () => {
    const { bus, server, client } = await stuck(0)
    expect(bus.stats().subscribers[0]?.queued).toBeGreaterThan(20)
    const other = await http2Open(server.port)
    await heard(other, (t) => t.cursors.length > 0)
    publishNotes(bus, 1)
    await heard(other, (t) => t.ids.length === 1)
    client.stream.resume()
    await heard(client, (t) => t.ids.length === 51)
    expect(client.transcript.ids).toEqual(idsFrom(1, 51))
  })

  it('is ended by the close of its bus in time', async () => {
    const { bus, closes, server } = await stuck(0)
    bus.close()
    await within((await server.exchange()).done, 'serveSse to settle', 2000)
    expect(closes.map(({ reason }) => reason)).toEqual(['closed'])
  })
})

describe('many streams of one HTTP/2 session', () => {
  it('each get everything, and each is freed by itself', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, {}, { http2: true })
    const first = await http2Open(server.port)
    const streams = [first]
    for (let n = 0; n < 9; n++) streams.push(await http2Open(server.port, {}, first.session))
    for (const stream of streams) await heard(stream, (t) => t.cursors.length > 0)
    publishNotes(bus, 20)
    for (const stream of streams) await heard(stream, (t) => t.ids.length === 20)
    for (const [index, stream] of streams.entries()) {
      stream.leave()
      await until(() => bus.subscriberCount === 9 - index)
    }
  })
})
