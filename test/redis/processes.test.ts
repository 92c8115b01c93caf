import { expect, it, onTestFinished } from 'vitest'
import { connectBus } from '../../src/client/index.ts'
import { type BusEvent, isControlFrame } from '../../src/index.ts'
import { type ChaosProxy, chaosProxy } from '../support/chaos-proxy.ts'
import { range } from '../support/frames.ts'
import { Program } from '../support/programs.ts'
import { saidBy } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

const CLIENTS = Number(process.env.REDIS_CLIENTS ?? 15)
const EVENTS = Number(process.env.REDIS_EVENTS ?? 3000)
const TIMEOUT = 600_000
const CUT_MS = Number(process.env.REDIS_CUT_MS ?? 200)
/** Events that each node publishes in one go. */
const SHARE = 250

const LOSSES = new Set(['state_resync_required', 'stream_error'])

interface Place {
  readonly program: Program
  readonly port: number
  readonly epoch: string
}

/** One client for good, however often its connection is cut. That it is slow is told, and is no fault. */
class Client {
  readonly events: BusEvent[] = []
  /** Frames that say of something that it is lost. */
  readonly losses: string[] = []
  connections = 0
  readonly #over: Promise<void>

  constructor(url: string, cursor: string) {
    const controller = new AbortController()
    const frames = connectBus(url, {
      lastEventId: cursor,
      retryMs: 5,
      signal: controller.signal,
      onOpen: () => {
        this.connections++
      },
    })
    const read = async () => {
      for await (const frame of frames) {
        if (!isControlFrame(frame)) this.events.push(frame as BusEvent)
        else if (LOSSES.has(frame.type)) this.losses.push(frame.type)
      }
    }
    this.#over = read()
    onTestFinished(() => {
      controller.abort()
      return this.#over
    })
  }

  async upTo(id: number): Promise<void> {
    await until(() => (this.events.at(-1)?.id ?? 0) >= id, `a client to have event ${id}`, TIMEOUT)
  }
}

async function places(): Promise<[Place, Place]> {
  const server = await RedisServer.start()
  const start = async (name: string) => {
    const program = await Program.start('redis/programs/node.ts', server.url, 'bus', name)
    return { program, ...(await program.said<{ port: number; epoch: string }>()) }
  }
  return [await start('a'), await start('b')]
}

async function published(place: Place, count: number): Promise<number> {
  const said = place.program.said<{ published: number }>()
  place.program.send({ publish: count })
  return (await said).published
}

function cutting(...proxies: ChaosProxy[]): () => void {
  const timer = setInterval(() => {
    for (const proxy of proxies) proxy.cut()
  }, CUT_MS)
  const stop = () => clearInterval(timer)
  onTestFinished(stop)
  return stop
}

describeOnRedis('two processes on one Redis', () => {
  it('give clients that are moved from the one to the other each event once, in order', {
    timeout: TIMEOUT,
  }, async () => {
    const [a, b] = await places()
    expect(a.epoch).toBe(b.epoch)
    const proxy = await chaosProxy(a.port, () => {
      proxy.target = Math.random() < 0.5 ? a.port : b.port
      return undefined
    })
    const clients = range(1, CLIENTS).map(() => new Client(proxy.url, `${a.epoch}:0`))
    const stop = cutting(proxy)
    let last = 0
    for (let left = EVENTS; left > 0; left -= 2 * SHARE) {
      last = Math.max(...(await Promise.all([published(a, SHARE), published(b, SHARE)])))
      await clients[0]?.upTo(last)
    }
    stop()
    expect(last).toBe(EVENTS)
    for (const client of clients) {
      await client.upTo(last)
      expect(client.losses).toEqual([])
      expect(client.events.map(({ id }) => id)).toEqual(range(1, EVENTS))
      for (const name of ['a', 'b']) {
        expect(saidBy(name, client.events)).toEqual(range(1, EVENTS / 2))
      }
    }
    for (const { program } of [a, b]) {
      program.send('end')
      expect(await program.over).toBe(0)
    }
  })

  it('change nothing for each other when one is killed', { timeout: TIMEOUT }, async () => {
    const [a, b] = await places()
    const [toA, toB] = [await chaosProxy(a.port), await chaosProxy(b.port)]
    const stay = range(1, 5).map(() => new Client(toB.url, `${b.epoch}:0`))
    const move = range(1, 5).map(() => new Client(toA.url, `${b.epoch}:0`))
    await Promise.all([published(a, SHARE), published(b, SHARE)])
    const dying = published(a, 1_000_000).catch(() => 0)
    await stay[0]?.upTo(2 * SHARE + 100)
    a.program.kill()
    expect(await a.program.over).toBe('SIGKILL')
    expect(await dying).toBe(0)
    toA.target = b.port

    const last = await published(b, SHARE)
    for (const client of [...stay, ...move]) {
      await client.upTo(last)
      expect(client.losses).toEqual([])
      expect(client.events.map(({ id }) => id)).toEqual(range(1, last))
      expect(saidBy('b', client.events)).toEqual(range(1, 2 * SHARE))
    }
    for (const client of stay) expect(client.connections).toBe(1)
  })
})
