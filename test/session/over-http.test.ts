/** Sessions over real HTTP: the transport of the node entry, bare sockets, and the client that resumes. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { connectSse } from '../../src/client/index.ts'
import { parseCursor } from '../../src/last-event-id/index.ts'
import { sseTransport } from '../../src/node/index.ts'
import { ResumableSession } from '../../src/session/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { drawFate, drawFrom } from '../support/chaos-plan.ts'
import { chaosProxy, turn } from '../support/chaos-proxy.ts'
import { SEED } from '../support/chaos-scene.ts'
import { ended, heard } from '../support/http-client.ts'
import { serve } from '../support/http-server.ts'
import { until, within } from '../support/until.ts'

/** A server whose every GET attaches to one session. */
async function sessionServer(options: { graceMs?: number } = {}) {
  const bus = busWith(0)
  const session = new ResumableSession({ id: 's', bus, ...options })
  onTestFinished(() => session.close())
  const statuses: boolean[] = []
  const server = await serve((req, res) => {
    const transport = sseTransport(req, res, { epoch: bus.epoch, retryMs: 0, heartbeatMs: 50 })
    const cursor = parseCursor(req.headers['last-event-id'])
    statuses.push(session.attach(transport, cursor && { lastEventId: cursor.id, epoch: cursor.epoch }))
    return transport.closed
  })
  return { bus, session, server, statuses }
}

const resuming = (cursor: string) => ({ headers: { 'last-event-id': cursor } })

describe('a session over HTTP', () => {
  it('writes ids on events, and none on replies', async () => {
    const { bus, session, server } = await sessionServer()
    const client = await server.open()
    await until(() => session.state === 'attached')
    publish(bus, 1)
    session.reply({ result: 1 })
    await heard(client, (t) => t.text.includes('result'))
    expect(client.transcript.text).toContain('id: test-epoch:1\ndata: {"id":1,')
    expect(client.transcript.text).toContain('\n\ndata: {"result":1}\n\n')
  })

  it('takes the cursor of the header, with or without the epoch', async () => {
    const { bus, server } = await sessionServer()
    publish(bus, 3)
    for (const cursor of ['1', `${bus.epoch}:1`]) {
      const client = await server.open(resuming(cursor))
      await heard(client, (t) => t.ids.length === 2)
      expect(client.transcript.ids).toEqual([2, 3])
    }
  })

  it('is not taken over by HEAD, which reads nothing', async () => {
    const { bus, session, server, statuses } = await sessionServer()
    const client = await server.open()
    await until(() => session.state === 'attached')
    const head = await server.open({ method: 'HEAD' })
    await ended(head)
    expect(statuses).toEqual([true, false])
    publish(bus, 1)
    session.reply('R')
    await heard(client, (t) => t.text.includes('"R"'))
    expect(client.transcript.ids).toEqual([1])
  })

  it('goes on where it is for a header that is no cursor', async () => {
    const { bus, session, server } = await sessionServer()
    const first = await server.open()
    publish(bus, 2)
    await heard(first, (t) => t.ids.length === 2)
    const client = await server.open(resuming('9007199254740992'))
    await heard(client, (t) => t.cursors.length === 1)
    publish(bus, 1)
    await heard(client, (t) => t.ids.length === 1)
    expect(client.transcript.ids).toEqual([3])
    expect(session.state).toBe('attached')
  })

  it('whose socket closes first and whose client comes back then: answered, nothing aborted, the gap filled', async () => {
    const { bus, session, server, statuses } = await sessionServer()
    const first = await server.open()
    publish(bus, 2)
    await heard(first, (t) => t.ids.length === 2)
    const { signal } = session
    first.leave()
    await until(() => session.state === 'detached')
    publish(bus, 2)
    session.reply('R')
    const second = await server.open(resuming('2'))
    await heard(second, (t) => t.payloads.includes('R'))
    expect(second.status).toBe(200)
    expect(statuses).toEqual([true, true])
    expect(signal.aborted).toBe(false)
    expect(second.transcript.ids).toEqual([3, 4])
    const { text } = second.transcript
    expect(text.indexOf('"R"')).toBeGreaterThan(text.indexOf('replay_complete'))
    expect(text.indexOf('replay_complete')).toBeGreaterThan(text.indexOf(`id: ${bus.epoch}:4`))
  })

  it('sends a reply again to a client that had stopped reading, and not to one that had read it', async () => {
    const { bus, session, server } = await sessionServer()
    const deaf = await server.open()
    await until(() => session.state === 'attached')
    publish(bus, 1)
    await heard(deaf, (t) => t.ids.length === 1)
    deaf.socket.pause()
    session.reply('R')
    await until(() => bus.lastEventId === 2, 'the fence: the write has succeeded')
    deaf.socket.resetAndDestroy()
    await until(() => session.state === 'detached')

    const second = await server.open(resuming('1'))
    await heard(second, (t) => t.cursors.includes(`${bus.epoch}:3`))
    expect(second.transcript.payloads).toContain('R')
    second.leave()
    await until(() => session.state === 'detached')

    const third = await server.open(resuming('3'))
    await heard(third, (t) => t.text.includes('replay_complete'))
    publish(bus, 1)
    await heard(third, (t) => t.ids.length === 1)
    expect(third.transcript.payloads).not.toContain('R')
  })

  it('is ended by `bus.close()` with every response', async () => {
    const { bus, session, server } = await sessionServer()
    const client = await server.open()
    await until(() => session.state === 'attached')
    bus.close()
    await until(() => client.ended)
    await within(new Promise((resolve) => server.server.close(resolve)), 'the server to close')
    expect(session.state).toBe('closed')
  })

  it('tells a client that was replaced, which then stops by itself', async () => {
    const { session, server } = await sessionServer()
    const first = connectSse(server.url(), { lastEventId: 0, retryMs: 1 })
    const reading = first.next()
    await until(() => session.state === 'attached')
    const second = await server.open()
    await within(reading, 'the end of the first')
    const read = await reading
    if (!read.done) for await (const _ of first);
    expect(server.exchanges).toHaveLength(2)
    second.leave()
  })
})

describe('a session behind a connection that is cut again and again', () => {
  const CUTS = 40
  const CHUNKS = 500

  it(`delivers each chunk once, in order, and the reply last (CHAOS_SEED=${SEED})`, async () => {
    const { bus, session, server } = await sessionServer({ graceMs: Infinity })
    const draw = drawFrom(SEED)
    const proxy = await chaosProxy(server.port, () => {
      if (proxy.cuts >= CUTS) return undefined
      const fate = drawFate(draw, 800)
      // A request that comes after the one that followed it is the newest for any server.
      return fate.way === 'late' ? { ...fate, way: 'reset' as const } : fate
    })
    const stream = connectSse(proxy.url, {
      lastEventId: 0,
      retryMs: 0,
      connectTimeoutMs: 200,
      idleTimeoutMs: 200,
    })
    onTestFinished(() => stream.close())

    const chunks: number[] = []
    const replies: string[] = []
    const replied: boolean[] = []
    const reading = (async () => {
      for await (const { data } of stream) {
        const message = JSON.parse(data) as { type?: string; id?: number } | string
        if (typeof message === 'string') {
          if (!replies.includes(message)) replies.push(message)
          if (message === 'middle') expect(chunks.length).toBeGreaterThanOrEqual(CHUNKS / 2)
          if (message === 'last') return
        } else if (message.type === 'tick') chunks.push(message.id as number)
        else expect(message.type).toBe('replay_complete')
      }
    })()
    const published: number[] = []
    while (published.length < CHUNKS || proxy.cuts < CUTS) {
      // What was cut is fetched again before there is more to cut.
      if (published.length - chunks.length < 20)
        published.push(bus.publish({ type: 'tick', data: 'ä€𝄞' })?.id ?? 0)
      if (published.length >= CHUNKS / 2 && replied.length === 0) replied.push(session.reply('middle'))
      await turn()
    }
    session.reply('last')
    await within(reading, 'the last reply', 60_000)
    expect(chunks).toEqual(published)
    expect(replies).toEqual(['middle', 'last'])
  }, 40_000)
})
