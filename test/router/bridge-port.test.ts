import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { bridgePort, type EventPattern, type PortMessage } from '../../src/router/index.ts'
import { observedBus } from '../support/bus.ts'
import { range } from '../support/frames.ts'
import { until, within } from '../support/until.ts'

/** A bridged channel whose other end is read here. */
function channel(bus: EventBus) {
  const { port1, port2 } = new MessageChannel()
  const got: PortMessage[] = []
  port2.on('message', (message) => got.push(message))
  const bridge = bridgePort(bus, port1)
  onTestFinished(() => port1.close())
  return { bridge, port: port1, other: port2, got }
}

/** Posts requests, and waits until the bridge has obeyed them: it hears of each before this does. */
async function ask({ port, other }: ReturnType<typeof channel>, ...requests: unknown[]) {
  let obeyed = 0
  const note = () => {
    obeyed++
  }
  port.on('message', note)
  for (const request of requests) other.postMessage(request)
  await until(() => obeyed === requests.length, 'the requests')
  port.off('message', note)
}

describe('a bridged port', () => {
  it('gets what its subscriptions match, once for each of them', async () => {
    const bus = new EventBus()
    const one = channel(bus)
    await ask(
      one,
      { op: 'subscribe', id: 'all', system: 's' },
      { op: 'subscribe', id: 7, type: 'job.*', path: 'a.**' },
    )
    const first = bus.publish({ type: 'job.done', system: 's', path: 'a.b', data: { x: 1 } })
    bus.publish({ type: 'job.done', path: 'b' })
    const last = bus.publish({ type: 'other', system: 's' })
    await until(() => one.got.length >= 3)
    const message = { id: first?.id, system: 's', type: 'job.done', path: 'a.b', data: { x: 1 } }
    expect(one.got).toHaveLength(3)
    expect(one.got).toEqual(
      expect.arrayContaining([
        { subscription: 'all', ...message },
        { subscription: 7, ...message },
        { subscription: 'all', id: last?.id, system: 's', type: 'other', path: undefined },
      ]),
    )
    expect('data' in (one.got[2] as object)).toBe(false)
    expect(bus.subscriberCount).toBe(1)
  })

  it('gets no more of what it unsubscribed from, and the new patterns of a name that it used again', async () => {
    const bus = new EventBus()
    const one = channel(bus)
    await ask(
      one,
      { op: 'subscribe', id: '__proto__', type: 'a' },
      { op: 'subscribe', id: 'b', type: 'b' },
      { op: 'unsubscribe', id: '__proto__' },
      { op: 'subscribe', id: 'b', type: 'c' },
      { op: 'unsubscribe', id: 'unknown' },
    )
    for (const type of ['a', 'b', 'c']) bus.publish({ type })
    await until(() => one.got.length > 0)
    expect(one.got).toMatchObject([{ subscription: 'b', type: 'c' }])
  })

  it('is not disturbed by messages that are no requests, and has a bad pattern or name reported', async () => {
    const { bus, reports } = observedBus()
    const one = channel(bus)
    await ask(
      one,
      null,
      undefined,
      7,
      'text',
      { op: 'other' },
      { op: 'subscribe', id: 'a', type: 'a' },
      { op: 'subscribe', id: 'a', type: 'a*' },
      { op: 'subscribe', id: 'b', path: 7 },
      { op: 'subscribe' },
      { op: 'subscribe', id: { name: 'c' } },
      { op: 'subscribe', id: -1, type: 'b' },
    )
    for (const type of ['a', 'b']) bus.publish({ type })
    await until(() => one.got.length > 1)
    expect(one.got).toMatchObject([
      { subscription: 'a', type: 'a' },
      { subscription: -1, type: 'b' },
    ])
    const report = { type: 'callback_error', error: expect.any(TypeError) }
    expect(reports).toMatchObject([report, report, report, report])
  })

  it.each([undefined, null, { name: 'c' }, true])(
    'is told what a name may be by the report of %j',
    async (id) => {
      const { bus, reports } = observedBus()
      await ask(channel(bus), { op: 'subscribe', id })
      await until(() => reports.length > 0)
      const message = expect.stringMatching(/^id must be of type string or number, got [a-z]+$/)
      expect(reports).toMatchObject([{ type: 'callback_error', error: { name: 'TypeError', message } }])
    },
  )

  it('has data that cannot be cloned reported, and gets the next event', async () => {
    const { bus, reports } = observedBus()
    const one = channel(bus)
    await ask(one, { op: 'subscribe', id: 'a', type: '(good|bad)' })
    const bad = bus.publish({ type: 'bad', data: () => {} })
    bus.publish({ type: 'good' })
    await until(() => one.got.length > 0)
    expect(one.got).toMatchObject([{ type: 'good' }])
    expect(reports).toEqual([{ type: 'event_not_serialisable', id: bad?.id, eventType: 'bad' }])
  })

  it('frees everything when it closes, at either end', async () => {
    const bus = new EventBus()
    for (const end of ['port', 'other'] as const) {
      const one = channel(bus)
      expect(bus.subscriberCount).toBe(1)
      one[end].close()
      await until(() => bus.subscriberCount === 0)
      expect(one.port.listenerCount('message')).toBe(0)
    }
  })

  it('frees everything when the bridge is closed, and stays open itself', async () => {
    const bus = new EventBus()
    const one = channel(bus)
    one.bridge.close()
    one.bridge[Symbol.dispose]()
    expect(bus.subscriberCount).toBe(0)
    expect(one.port.listenerCount('message')).toBe(0)
    one.port.postMessage({ subscription: 'mine' })
    await until(() => one.got.length > 0)
  })

  it('frees everything when the bus ends', async () => {
    const bus = new EventBus()
    const one = channel(bus)
    bus.end()
    expect(one.port.listenerCount('message')).toBe(0)
    expect(one.port.listenerCount('close')).toBe(0)
    const late = channel(bus)
    expect(late.port.listenerCount('message')).toBe(0)
  })

  it('may be anything of its shape, with the events of Node or of the web', () => {
    const bus = new EventBus()
    const posted: unknown[] = []
    const listeners = new Map<string, (message: never) => void>()
    const node = {
      postMessage: (message: unknown) => posted.push(message),
      on: (type: string, listener: never) => listeners.set(type, listener),
      off: (type: string) => listeners.delete(type),
    }
    const bridge = bridgePort(bus, node)
    listeners.get('message')?.({ op: 'subscribe', id: 1, type: 'a' } as never)
    bus.publish({ type: 'a' })
    expect(posted).toMatchObject([{ subscription: 1, type: 'a' }])
    bridge.close()
    expect(listeners.size).toBe(0)
  })

  it('is refused where it is none, and by a full bus', () => {
    const bus = new EventBus({ maxSubscribers: 1 })
    expect(() => bridgePort(bus, null as never)).toThrow(/port/)
    expect(() => bridgePort(bus, {} as never)).toThrow(/port/)
    expect(() => bridgePort(bus, { postMessage() {} })).toThrow(/port/)
    expect(() => bridgePort({} as never, { postMessage() {}, on() {} })).toThrow(/bus/)
    bus.subscribe()
    const { port1 } = new MessageChannel()
    expect(() => bridgePort(bus, port1)).toThrow('maxSubscribers')
    expect(port1.listenerCount('message')).toBe(0)
    port1.close()
  })
})

interface WorkerOptions {
  readonly patterns: EventPattern[]
  readonly last?: number
  readonly neverReads?: boolean
  readonly diesAfter?: number
}

/** A worker with patterns of its own, behind a port of its own. */
function startWorker(bus: EventBus, options: WorkerOptions): { worker: Worker; port: MessagePort } {
  const { port1: port, port2 } = new MessageChannel()
  bridgePort(bus, port)
  const worker = new Worker(new URL('../support/port-worker.mjs', import.meta.url), {
    workerData: { ...options, port: port2 },
    transferList: [port2],
  })
  onTestFinished(async () => {
    await worker.terminate()
    port.close()
  })
  return { worker, port }
}

describe('workers', () => {
  it('20 of them get what their patterns match, whatever becomes of one that dies and one that never reads', async () => {
    const bus = new EventBus()
    const EVENTS = 2000
    const good = range(1, 18).map((number) =>
      startWorker(bus, {
        patterns: [{ type: 'tick', path: `to.${number}` }, { type: 'end' }],
        last: EVENTS,
      }),
    )
    const dying = startWorker(bus, { patterns: [{ type: 'tick' }], diesAfter: 10 })
    const stuck = startWorker(bus, { patterns: [{ type: 'tick', path: 'to.1' }], neverReads: true })
    expect(bus.subscriberCount).toBe(20)
    const results = good.map(({ worker }) => within(once(worker, 'message'), 'what a worker got', 60_000))

    // The bridge hears of a request before this does, and of its port's second one long before the last event.
    const ready = new Set<number>()
    for (const [at, { port }] of [...good, dying, stuck].entries()) {
      port.once('message', () => ready.add(at))
    }
    await until(() => ready.size === 20, 'the first request of every worker', 60_000)

    for (let i = 1; i < EVENTS; i++) {
      bus.publish({ type: 'tick', path: `to.${(i % 18) + 1}`, data: i })
      if (i % 200 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await until(() => bus.subscriberCount === 19, 'the end of the worker that dies', 60_000)
    bus.publish({ type: 'end', data: EVENTS })

    for (const [at, result] of results.entries()) {
      const [got] = (await result) as [PortMessage[]]
      const own = range(1, EVENTS - 1).filter((i) => (i % 18) + 1 === at + 1)
      expect(got.map(({ data }) => data)).toEqual([...own, EVENTS])
      expect(got.map(({ subscription }) => subscription)).toEqual([...own.map(() => 0), 1])
    }
    await stuck.worker.terminate()
    await until(() => bus.subscriberCount === 18, 'the end of the worker that never read')
  }, 90_000)

  it('of Node may be given in place of their ports, and free their slot as they end', async () => {
    const bus = new EventBus()
    const worker = new Worker(
      `require('node:worker_threads').parentPort.on('message', () => {}).postMessage({ op: 'subscribe', id: 1 })`,
      { eval: true },
    )
    bridgePort(bus, worker)
    await within(once(worker, 'message'), 'the request of the worker', 60_000)
    expect(bus.subscriberCount).toBe(1)
    await worker.terminate()
    expect(bus.subscriberCount).toBe(0)
    expect(['message', 'close', 'exit'].map((type) => worker.listenerCount(type))).toEqual([0, 0, 0])
  })
})
