/** The client against a real server, over the platform's own fetch. */

import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectBus, connectSse, type SseOptions, type SseRetry } from '../../src/client/index.ts'
import { EventBus, type Frame } from '../../src/index.ts'
import { serveSse } from '../../src/node/index.ts'
import { abortListeners, activeTimers, busWith, publish } from '../support/bus.ts'
import { complete, DONE, notationOf, range, resync } from '../support/frames.ts'
import { serve, spyOnWrites, type TestServer } from '../support/http-server.ts'
import { settle, until, within } from '../support/until.ts'

type ServerOptions = NonNullable<Parameters<typeof serveSse>[3]>

async function busServer(bus: EventBus | (() => EventBus), options: ServerOptions = {}): Promise<TestServer> {
  return serve((req, res) =>
    serveSse(typeof bus === 'function' ? bus() : bus, req, res, { retryMs: 1, ...options }),
  )
}

function connect(server: TestServer, options: SseOptions = {}) {
  const stream = connectBus(server.url(), options)
  onTestFinished(() => stream.close())
  return stream
}

/** Reads until this many frames came. */
async function take(stream: AsyncIterator<Frame>, count: number) {
  const frames: unknown[] = []
  while (frames.length < count) {
    const { done, value } = await within(
      stream.next(),
      `frame ${frames.length + 1} of ${count}; so far ${JSON.stringify(frames)}`,
    )
    frames.push(done ? DONE : notationOf(value))
    if (done) break
  }
  return frames
}

const cutAll = (server: TestServer) => {
  for (const { res } of server.exchanges) res.destroy()
}

describe('a client of a bus', () => {
  test('resumes from its first connection on, though it saw no event', async () => {
    const bus = busWith(5)
    const server = await busServer(bus)
    const stream = connect(server)
    const first = take(stream, 2)
    await until(() => bus.subscriberCount === 1)
    await settle()
    cutAll(server)
    publish(bus, 2)
    expect(await first).toEqual([6, 7])
    expect(stream.cursor).toBe('test-epoch:7')
    expect(server.exchanges[1]?.req.headers['last-event-id']).toBe('test-epoch:5')
  })

  test('gets each event once and in order over many cuts', async () => {
    const bus = busWith(0)
    const server = await busServer(bus)
    const stream = connect(server, { retryMs: 0, maxRetryMs: 1, lastEventId: 0 })
    const ids: number[] = []
    for (let round = 0; round < 20; round++) {
      publish(bus, 10)
      while (ids.length < (round + 1) * 10) {
        const { value } = await within(stream.next(), 'an event')
        if (value?.id !== undefined) ids.push(value.id as number)
        if (ids.length % 10 === 5) cutAll(server)
      }
    }
    expect(ids).toEqual(range(1, 200))
  })

  test('is told of a restart, and goes on in the new epoch', async () => {
    let bus = busWith(50)
    const server = await busServer(() => bus)
    const stream = connect(server, { lastEventId: 'test-epoch:50' })
    expect(await take(stream, 1)).toEqual([complete(0)])
    bus = new EventBus({ epoch: 'other' })
    publish(bus, 60)
    cutAll(server)
    expect(await take(stream, 62)).toEqual([
      resync('epoch_reset', 50, 1, { epoch: 'other', detail: 'epoch_mismatch' }),
      ...range(1, 60),
      complete(60, 60),
    ])
    expect(stream.cursor).toBe('other:60')
  })

  test('is not told twice of a gap when the cut comes right behind the frame', async () => {
    const bus = busWith(12, { ringSize: 5 })
    const server = await busServer(bus)
    const stream = connect(server, { lastEventId: 'test-epoch:3' })
    expect(await take(stream, 1)).toEqual([resync('ring_evicted', 3, 8)])
    expect(stream.cursor).toBe('test-epoch:7')
    stream.close()
    const next = connect(server, { lastEventId: stream.cursor })
    expect(await take(next, 6)).toEqual([...range(8, 12), complete(5, 12)])
  })

  test('that stops reading holds up the server, is evicted, and resumes with nothing lost', async () => {
    const bus = new EventBus({ epoch: 'test-epoch', maxQueued: 100 })
    const server = await busServer(bus)
    const stream = connect(server, { lastEventId: 0, retryMs: 0 })
    const ids: number[] = []
    const types = new Set<string>()
    const reading = (async () => {
      for await (const frame of stream) {
        types.add(frame.type)
        if (frame.id !== undefined && ids.push(frame.id as number) === 6000) break
        // The first event takes as long as it takes to be evicted.
        if (ids.length === 1) await until(() => bus.stats().evicted > 0)
      }
    })()
    await until(() => bus.subscriberCount === 1)
    bus.publish({ type: 'tick' })
    await until(() => ids.length === 1)
    const data = 'x'.repeat(4096)
    for (let id = 2; id <= 6000; id++) {
      bus.publish({ type: 'tick', data })
      if (id % 50 === 0) await settle(1)
    }
    await within(reading, `all events; ${ids.length} came`)
    expect(ids).toEqual(range(1, 6000))
    expect(types).toContain('slow_client_warning')
    expect(types).toContain('client_evicted')
  })

  test('is done where the bus has ended and was read to its end', async () => {
    const bus = busWith(3)
    const server = await busServer(bus)
    const stream = connect(server, { lastEventId: 1, retryMs: 0 })
    expect(await take(stream, 3)).toEqual([2, 3, complete(2, 3)])
    bus.end()
    expect(await take(stream, 9)).toEqual([DONE])
    expect(server.exchanges[1]?.res.statusCode).toBe(204)
  })

  test('keeps trying a server that is full, and gets in', async () => {
    const bus = busWith(1, { maxSubscribers: 1 })
    const full = bus.subscribe()
    const server = await busServer(bus, { onLimit: 'status' })
    const retries: SseRetry[] = []
    const stream = connect(server, {
      lastEventId: 0,
      onRetry: (retry) => {
        retries.push(retry)
        full.return()
        stream.close()
      },
    })
    expect(await take(stream, 1)).toEqual([DONE])
    expect(retries).toMatchObject([{ error: { status: 503 } }])
    expect(retries[0]?.delayMs).toBeGreaterThanOrEqual(3000)
  })

  test('lives on heartbeats, and leaves a server without them', async () => {
    const bus = busWith(1)
    const beating = await busServer(bus, { heartbeatMs: 20 })
    const retries: unknown[] = []
    const alive = connect(beating, { idleTimeoutMs: 400, onRetry: (retry) => retries.push(retry) })
    const next = alive.next()
    const beats = spyOnWrites((await beating.exchange()).res)
    await until(() => beats.length * 20 > 500, 'heartbeats for longer than the client bears silence')
    publish(bus, 1)
    expect((await next).value).toMatchObject({ id: 2 })
    expect(retries).toEqual([])
    alive.close()

    const silent = await busServer(bus, { heartbeatMs: 0 })
    const dead = connect(silent, { idleTimeoutMs: 30, retryMs: 0, onRetry: (retry) => retries.push(retry) })
    void dead.next()
    await until(() => retries.length > 0)
    expect(retries[0]).toMatchObject({ error: { message: expect.stringContaining('idleTimeoutMs') } })
  })

  test('reads it with the cursor in the query, and with bare ids', async () => {
    const bus = busWith(5)
    const server = await busServer(bus, { cursor: 'id', lastEventIdParam: 'since' })
    const stream = connect(server, { cursorParam: 'since', lastEventId: 3, retryMs: 0 })
    expect(await take(stream, 3)).toEqual([4, 5, complete(2, 5)])
    cutAll(server)
    publish(bus, 1)
    expect(await take(stream, 1)).toEqual([6])
    expect(server.exchanges.map(({ req }) => [req.url, req.headers['last-event-id']])).toEqual([
      ['/?since=3', undefined],
      ['/?since=5', undefined],
    ])
  })
})

describe('every way to leave', () => {
  const ENDS: Record<
    string,
    (stream: ReturnType<typeof connectBus>, controller: AbortController) => unknown
  > = {
    close: (stream) => stream.close(),
    return: (stream) => stream.return(),
    abort: (_, controller) => controller.abort(),
  }

  test.each(Object.entries(ENDS))(
    'by %s frees the subscriber, the socket, the timers and the listener',
    async (_, leave) => {
      const bus = busWith(1)
      const server = await busServer(bus, { heartbeatMs: 0, stallTimeoutMs: 0 })
      for (const pending of [false, true]) {
        const timers = activeTimers()
        const controller = new AbortController()
        const stream = connect(server, {
          signal: controller.signal,
          idleTimeoutMs: 60_000,
          connectTimeoutMs: 60_000,
        })
        const next = pending ? stream.next() : undefined
        await until(() => bus.subscriberCount === 1)
        await until(() => stream.readyState === 1)
        await leave(stream, controller)
        if (next) expect(await next).toEqual({ done: true, value: undefined })
        await until(() => bus.subscriberCount === 0, 'the server to notice')
        // Node's fetch opens a socket for the next request by itself, and lets go of it after 4 s; that one carried none.
        await until(
          () => server.exchanges.every(({ req }) => req.socket.destroyed),
          'the socket to be closed',
        )
        expect([abortListeners(controller.signal), activeTimers() <= timers]).toEqual([0, true])
      }
    },
  )

  test('while the server never answers', async () => {
    const server = await serve((_, res) => new Promise<void>((resolve) => res.once('close', resolve)))
    const stream = connectSse(server.url())
    const next = stream.next()
    const { res } = await server.exchange()
    stream.close()
    expect(await next).toEqual({ done: true, value: undefined })
    await until(() => res.destroyed, 'the request to be torn')
  })
})

test('what is waited for keeps the process alive: the head, the next byte, the next try', async () => {
  const server = await serve(async (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await new Promise<void>((resolve) => res.once('close', resolve))
  })
  const refs: number[] = []
  const wrapped: SseOptions['fetch'] = (url, init) => {
    refs.push(activeTimers())
    return fetch(url, init)
  }
  const timers = activeTimers()
  let isLost = false
  const stream = connectSse(server.url(), {
    fetch: wrapped,
    idleTimeoutMs: 20,
    retryMs: 60_000,
    maxRetryMs: Infinity,
    onRetry: () => {
      isLost = true
    },
  })
  onTestFinished(() => stream.close())
  void stream.next()
  await until(() => isLost, 'the connection to be lost')
  await settle()
  const waiting = activeTimers()
  // Held against what is left without it: timers of others may have ended in the meantime.
  stream.close()
  expect([(refs[0] as number) > timers, waiting > activeTimers()]).toEqual([true, true])
})

describe('a server that is in trouble', () => {
  test('is tried again until it listens', async () => {
    const reserved = createServer()
    await new Promise<void>((resolve) => reserved.listen(0, '127.0.0.1', resolve))
    const { port } = reserved.address() as { port: number }
    await new Promise((resolve) => reserved.close(resolve))
    const errors: unknown[] = []
    const stream = connectSse(`http://127.0.0.1:${port}/`, {
      retryMs: 0,
      maxRetries: 3,
      onRetry: ({ error }) => errors.push(error),
    })
    await expect(stream.next()).rejects.toMatchObject({ status: 0, cause: expect.any(TypeError) })
    expect(errors.length).toBe(3)
  })

  test('redirects: the answer and its address are those of the last one', async () => {
    const bus = busWith(2)
    const server = await serve((req, res) => {
      if (req.url === '/old') return res.writeHead(307, { location: '/new?a=b' }).end()
      return serveSse(bus, req, res)
    })
    const opened: unknown[] = []
    const stream = connectBus(server.url('/old'), { lastEventId: 1, onOpen: ({ url }) => opened.push(url) })
    onTestFinished(() => stream.close())
    expect(await take(stream, 1)).toEqual([2])
    expect(opened).toEqual([server.url('/new?a=b')])
  })

  test('resets the connection before the head, and is tried again', async () => {
    const bus = busWith(2)
    let calls = 0
    const server = await serve((req, res) => {
      if (++calls < 4) return req.socket.resetAndDestroy()
      return serveSse(bus, req, res)
    })
    const stream = connectBus(server.url(), { lastEventId: 1, retryMs: 0, maxRetryMs: 1 })
    onTestFinished(() => stream.close())
    expect(await take(stream, 1)).toEqual([2])
  })
})

test('a POST with a body is sent anew with each connection', async () => {
  const bodies: string[] = []
  const bus = busWith(3)
  const server = await serve(
    async (req, res) => {
      let body = ''
      for await (const chunk of req) body += chunk
      bodies.push(`${req.method} ${req.headers.authorization} ${body}`)
      await serveSse(bus, req, res, { retryMs: 1 })
    },
    { readsBody: true },
  )
  const stream = connectBus(server.url(), {
    body: '{"q":1}',
    headers: { authorization: 'a' },
    lastEventId: 2,
    retryMs: 0,
    maxRetryMs: 1,
  })
  onTestFinished(() => stream.close())
  expect(await take(stream, 2)).toEqual([3, complete(1, 3)])
  cutAll(server)
  publish(bus, 1)
  expect(await take(stream, 1)).toEqual([4])
  expect(bodies).toEqual(['POST a {"q":1}', 'POST a {"q":1}'])
})
