import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { Cut, drawFate, drawFrom, type Fate, PLACES, type Place, WAYS, type Way } from './chaos-plan.ts'
import { chaosProxy } from './chaos-proxy.ts'
import { heard, over, RawClient } from './http-client.ts'
import { serve } from './http-server.ts'
import { idsFrom } from './http-transcript.ts'
import { settle, until } from './until.ts'

const CALM: Fate = {
  place: 'anywhere',
  from: 1_000_000,
  way: 'reset',
  pieces: Infinity,
  holdMs: 0,
  delayMs: 0,
  stallMs: 0,
}
const blocks = (from: number, to: number) =>
  idsFrom(from, to)
    .map((id) => `id: ${id}\ndata: "€ä𝄞"\n\n`)
    .join('')
const closed = (res: ServerResponse) => new Promise<void>((resolve) => res.once('close', () => resolve()))

/** A server that streams twenty blocks and stays open, and a proxy before it whose connections have these fates. */
async function behind(...fates: Partial<Fate>[]) {
  const server = await serve((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(blocks(1, 10))
    setImmediate(() => res.write(blocks(11, 20)))
    return closed(res)
  })
  const proxy = await chaosProxy(server.port, () => {
    const fate = fates.shift()
    return fate && { ...CALM, ...fate }
  })
  return { server, proxy, connect: () => new RawClient(proxy.port) }
}

describe('a connection that is left alone', () => {
  it('passes both ways, and its end is passed on', async () => {
    const { server, proxy, connect } = await behind()
    const client = connect()
    await heard(client, ({ ids }) => ids.length === 20)
    ;(await server.exchange()).res.end()
    await over(client)
    expect(client.ended).toBe(true)
    client.destroy()
    await until(() => proxy.sockets === 0)
    expect(proxy.cuts).toBe(0)
  })

  it('ends the server’s side with the client’s', async () => {
    const { server, proxy, connect } = await behind()
    const client = connect()
    await heard(client, ({ ids }) => ids.length === 20)
    client.destroy()
    await (await server.exchange()).done
    await until(() => proxy.sockets === 0)
  })

  it.each([1, 7, 64])('comes whole in pieces of %i', async (pieces) => {
    const { connect } = await behind({ pieces, delayMs: 1, holdMs: 1 })
    const client = connect()
    await heard(client, ({ text }) => text === blocks(1, 20))
  })

  it('is reset where there is no server', async () => {
    const { server, proxy, connect } = await behind()
    await new Promise((resolve) => server.server.close(resolve))
    const client = connect()
    await until(() => client.closed)
    expect([client.status, client.error?.message, proxy.cuts]).toEqual([0, 'read ECONNRESET', 0])
  })
})

describe('a cut', () => {
  it.each<[Place, (text: string, client: RawClient) => boolean]>([
    ['before the request', (_text, { status }) => status === 0],
    ['before the head', (_text, { status }) => status === 0],
    ['in the head', (_text, { status }) => status === 0],
    ['behind the head', (text, { status }) => status === 200 && text === ''],
    ['anywhere', (text) => text.length > 10],
    ['in a block', (text) => /[^\n]\n$/.test(text)],
    ['before the blank line', (text) => /"\n$/.test(text)],
    ['behind a block', (text) => text.endsWith('\n\n')],
    ['in a character', (text) => /"€?ä?$/.test(text)],
  ])('%s is there', async (place, isThere) => {
    for (const from of [30, 57, 150]) {
      const { server, proxy, connect } = await behind({ place, from, way: 'end' })
      const client = connect()
      await until(() => client.closed)
      expect([client.transcript.text, isThere(client.transcript.text, client)]).toEqual([
        client.transcript.text,
        true,
      ])
      expect([proxy.cuts, proxy.struck.get(place), proxy.struck.get('end')]).toEqual([1, 1, 1])
      if (place !== 'before the request') await (await server.exchange()).done
      await until(() => proxy.sockets === 0)
    }
  })

  const bytes = Buffer.from('HTTP/1.1 200 OK\r\na: b\r\n\r\nid: 1\ndata: "ä€"\n\nid: 2\ndata: 2\n\n')
  it.each(PLACES.filter((place) => place !== 'before the request'))(
    '%s is at the same byte or a later one however the bytes come',
    (place) => {
      const whole = new Cut(place, 3).in(bytes) as number
      for (let split = 1; split < bytes.length; split++) {
        const cut = new Cut(place, 3)
        const first = cut.in(bytes.subarray(0, split))
        const at = first ?? split + (cut.in(bytes.subarray(split)) ?? bytes.length)
        expect(at).toBeGreaterThanOrEqual(Math.min(whole, at))
        // Only what is told by its neighbours can be missed at the very end of a piece.
        if (Math.abs(split - whole) > 1) expect(at).toBe(whole)
      }
    },
  )
})

describe('the ways to be cut', () => {
  const cutBy = async (way: Way, more: Partial<Fate> = {}) => {
    const scene = await behind({ way, from: 40, stallMs: 20, ...more })
    const client = scene.connect()
    await until(() => client.closed)
    return { ...scene, client }
  }

  it.each<Way>(['reset', 'stall'])('%s tears it at both ends', async (way) => {
    const { server, client } = await cutBy(way)
    expect([client.torn, client.transcript.bytes <= 40]).toEqual([true, true])
    // Right behind what was written, a reset may look like an end.
    if (way === 'stall') expect(client.error?.message).toBe('read ECONNRESET')
    const { req, done } = await server.exchange()
    await done
    expect(req.socket.destroyed).toBe(true)
  })

  it('end is torn, clean end is an end', async () => {
    expect((await cutBy('end')).client.torn).toBe(true)
    const { client } = await cutBy('clean end')
    expect([client.ended, client.transcript.bytes]).toEqual([true, 40])
  })

  it('half-close leaves the server in the belief that somebody listens, until a later connection is answered', async () => {
    const { server, client, connect } = await cutBy('half-close')
    expect(client.torn).toBe(true)
    const ghost = await server.exchange(0)
    expect(ghost.res.destroyed).toBe(false)
    const second = connect()
    await heard(second, ({ ids }) => ids.length === 20)
    await ghost.done
    second.destroy()
  })

  it('half-close towards the server lets arrive what the server still says', async () => {
    const { server, proxy, connect } = await behind({ way: 'half-close towards the server', from: 40 })
    ;(server.server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
    const client = connect()
    const { req, res } = await server.exchange()
    await until(() => req.socket.readableEnded)
    await heard(client, ({ ids }) => ids.length === 20)
    ;(res as ServerResponse).end(blocks(21, 21))
    await over(client)
    expect(client.ended).toBe(true)
    expect(client.transcript.text).toBe(blocks(1, 21))
    expect(proxy.cuts).toBe(1)
  })

  it('silence lasts until the client goes', async () => {
    const { server, proxy, connect } = await behind({ way: 'silence', from: 40 })
    const client = connect()
    await until(() => proxy.cuts === 1)
    const { res, done } = await server.exchange()
    ;(res as ServerResponse).write(blocks(21, 30))
    await settle()
    expect([client.transcript.bytes <= 40, client.closed]).toEqual([true, false])
    client.destroy()
    await done
  })

  it('late lets the request arrive behind that of the next connection', async () => {
    const { server, client, connect } = await cutBy('late', { place: 'before the request' })
    expect([client.status, server.exchanges.length]).toEqual([0, 0])
    const second = connect()
    await heard(second, ({ ids }) => ids.length === 20)
    const late = await server.exchange(1)
    expect(late.settled).toBe(false)
    const third = connect()
    await heard(third, ({ ids }) => ids.length === 20)
    await late.done
  })
})

describe('a seed', () => {
  it('draws the same fates again, and every kind of them', () => {
    const fates = (seed: number) => {
      const draw = drawFrom(seed)
      return Array.from({ length: 500 }, () => drawFate(draw, 1000))
    }
    expect(fates(7)).toEqual(fates(7))
    expect(fates(7)).not.toEqual(fates(8))
    expect(new Set(fates(7).map(({ way }) => way))).toEqual(new Set(WAYS))
    expect(new Set(fates(7).map(({ place }) => place))).toEqual(new Set(PLACES))
  })
})
