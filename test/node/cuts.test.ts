import { describe, expect, it } from 'vitest'
import { heard } from '../support/http-client.ts'
import { makeBus, type SseOptions, serveBus } from '../support/http-surfaces.ts'
import { idNumber, idsFrom } from '../support/http-transcript.ts'
import { settle, until } from '../support/until.ts'

/** Park and Miller's generator: the same cuts in every run. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

const TEXT = 'ä€𝄞 line\nline\r\nline id: 7\n\n'

describe('a client that is cut 200 times, at any byte', () => {
  const variants: [string, SseOptions, { http2?: boolean }][] = [
    ['envelopes, cursors with an epoch', {}, {}],
    ['payloads, bare ids', { data: 'payload', cursor: 'id' }, {}],
    ['a filter that lets every third through', { filter: ({ id }) => (id as number) % 3 === 0 }, {}],
  ]

  it.each(variants)('misses nothing and sees nothing twice (%s)', async (_name, options) => {
    const draw = random(20_260_101)
    const bus = makeBus({ ringSize: 100_000, maxQueued: 100_000 })
    const server = await serveBus(bus, { heartbeatMs: 1, ...options })
    const published: unknown[] = []
    const publish = (count: number) => {
      for (let n = 0; n < count; n++) {
        const data = { n: published.length, text: TEXT.slice(0, draw(TEXT.length)) }
        published.push(data)
        bus.publish({ type: 'note', data })
      }
    }
    const seen: number[] = []
    const payloads: unknown[] = []
    let cursor = 'e1:0'
    for (let cut = 0; cut < 200; cut++) {
      const client = server.connect({ headers: { 'Last-Event-ID': cursor } })
      client.cutAfter(draw(1200))
      while (!client.closed) {
        publish(1 + draw(4))
        await settle(1)
      }
      seen.push(...client.transcript.ids)
      payloads.push(...client.transcript.payloads)
      cursor = client.transcript.cursor ?? cursor
    }
    const last = await server.open({ headers: { 'Last-Event-ID': cursor } })
    await heard(last, (t) => t.control('replay_complete').length > 0)
    seen.push(...last.transcript.ids)
    payloads.push(...last.transcript.payloads)
    expect(last.transcript.control('state_resync_required')).toEqual([])

    const passes = (id: number) => options.filter?.({ id } as never) ?? true
    expect(seen).toEqual(idsFrom(1, bus.lastEventId).filter(passes))
    const data = payloads.map((payload) =>
      options.data === 'payload' ? payload : (payload as { data: unknown }).data,
    )
    expect(data).toEqual(seen.map((id) => published[id - 1]))
    last.destroy()
    await until(() => bus.subscriberCount === 0)
  })

  it('by the server as often misses nothing either', async () => {
    const draw = random(42)
    const bus = makeBus({ ringSize: 100_000, maxQueued: 100_000 })
    const server = await serveBus(bus)
    const seen: number[] = []
    let cursor = 'e1:0'
    for (let cut = 0; cut < 50; cut++) {
      const client = server.connect({ headers: { 'Last-Event-ID': cursor } })
      const { res } = await server.exchange(cut)
      for (let n = draw(20); n >= 0; n--) {
        bus.publish({ type: 'note', data: TEXT.repeat(draw(5)) })
        if (n % 3 === 0) await new Promise(setImmediate)
      }
      res.destroy()
      await until(() => client.closed)
      seen.push(...client.transcript.ids)
      cursor = client.transcript.cursor ?? cursor
    }
    const last = await server.open({ headers: { 'Last-Event-ID': cursor } })
    await heard(last, (t) => t.control('replay_complete').length > 0)
    seen.push(...last.transcript.ids)
    expect(seen).toEqual(idsFrom(1, bus.lastEventId))
    expect(idNumber(cursor)).toBeGreaterThan(0)
  })
})
