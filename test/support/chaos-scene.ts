/** A bus that many publish to, behind a server that can restart, behind a proxy that cuts, and who reads all that. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { connectBus } from '../../src/client/index.ts'
import { EventBus, type Frame, isControlFrame } from '../../src/index.ts'
import { serveSse } from '../../src/node/index.ts'
import type { BusOptions } from './bus.ts'
import { type Draw, drawFate, drawFrom } from './chaos-plan.ts'
import { type ChaosProxy, chaosProxy, turn } from './chaos-proxy.ts'
import { until } from './until.ts'

const asked = process.env.CHAOS_CUTS ?? ''

/** How many cuts a run makes: few by default, `CHAOS_CUTS` for long ones. */
export const cutsOf = (usual: number) => (asked === '' ? usual : Number(asked))

/** Milliseconds that a run of so many cuts may take on a machine that has other work. */
export const timeFor = (cuts: number) => 20_000 + cuts * 60

/** `CHAOS_SEED`, or one that no run had before; a failure names it. */
export const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000_000)

const PUBLISHERS = 20
const TEXT = 'ä€𝄞 line\nline\r\nline id: 7\n\n'

/** What a publisher says in its nth event; the epoch tells which server said it. */
export interface Said {
  readonly epoch: string
  readonly publisher: number
  readonly n: number
  readonly text: string
}

/** A bus on a port; `restart` is a new process with a new epoch, whose ids overlap those of the old one. */
export class Origin {
  bus!: EventBus
  port = 0
  /** The buses before, by epoch: the ids that each published. */
  readonly published = new Map<string, { from: number; to: number }>()
  readonly draw: Draw
  readonly #options: BusOptions
  readonly #counts = new Array<number>(PUBLISHERS).fill(0)
  #stop = async () => {}

  constructor(draw: Draw, options: BusOptions) {
    this.draw = draw
    this.#options = options
    onTestFinished(() => this.#stop())
  }

  async start(): Promise<void> {
    const epoch = `e${this.published.size + 1}`
    const startAfterId = this.bus === undefined ? 0 : Math.max(0, this.bus.lastEventId - this.draw(200))
    const bus = new EventBus({ ...this.#options, epoch, startAfterId })
    const server = createServer((req, res) => {
      void serveSse(bus, req, res, { retryMs: 0, heartbeatMs: 1 + this.draw(30) })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.bus = bus
    this.port = (server.address() as AddressInfo).port
    this.published.set(epoch, { from: startAfterId + 1, to: startAfterId })
    this.#stop = async () => {
      // In peace, or as a process that is killed.
      if (this.draw(2) === 0) bus.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      await until(() => bus.subscriberCount === 0, 'the old bus to have no subscriber left')
    }
  }

  async restart(proxy: ChaosProxy): Promise<void> {
    await this.#stop()
    await this.start()
    proxy.target = this.port
  }

  /** Lets some of the publishers say something. */
  publish(count: number): void {
    const { bus, draw } = this
    for (let left = count; left > 0; left--) {
      const publisher = draw(PUBLISHERS)
      const n = (this.#counts[publisher] as number) + 1
      this.#counts[publisher] = n
      const data: Said = { epoch: bus.epoch, publisher, n, text: TEXT.slice(0, draw(TEXT.length)) }
      bus.publish({ type: `publisher-${publisher}`, data })
    }
    const books = this.published.get(bus.epoch)
    if (books !== undefined) books.to = bus.lastEventId
  }
}

/** The books of one client: what it received and what it was told is lost is everything, once and in order. */
export class Books {
  epoch = 'e1'
  last = 0
  received = 0
  /** Events of the present epoch that were announced as lost. */
  announced = 0
  resyncs = 0
  epochs = 1
  readonly #said = new Map<number, number>()

  enter(frame: Frame): void {
    if (isControlFrame(frame)) {
      if (frame.type === 'state_resync_required') this.#lost(frame.data)
      return
    }
    const { epoch, publisher, n } = frame.data as Said
    if (epoch !== this.epoch) throw new Error(`an event of ${epoch} came in ${this.epoch}, unannounced`)
    if (frame.id !== this.last + 1) throw new Error(`${frame.id} came behind ${this.last} in ${epoch}`)
    const before = this.#said.get(publisher) ?? 0
    if (n <= before) throw new Error(`publisher ${publisher} said its ${n}th behind its ${before}th`)
    this.#said.set(publisher, n)
    this.last = frame.id
    this.received++
  }

  #lost(data: { reason: string; epoch: string; earliestAvailableId: number }): void {
    this.resyncs++
    if ((data.reason === 'epoch_reset') !== (data.epoch !== this.epoch)) {
      throw new Error(`${data.reason} of ${data.epoch} in ${this.epoch}`)
    }
    if (data.epoch !== this.epoch) {
      this.epochs++
      this.epoch = data.epoch
      this.received = this.announced = 0
    } else {
      const lost = data.earliestAvailableId - this.last - 1
      if (lost <= 0) throw new Error(`${lost} events were announced as lost behind ${this.last}`)
      this.announced += lost
    }
    this.last = data.earliestAvailableId - 1
  }
}

export interface ChaosOptions {
  readonly cuts: number
  readonly bus: BusOptions
  readonly clients: number
  /** Events at a time, at the most. */
  readonly burst: number
  /** How far the slowest client may be behind before the publishers wait for it. */
  readonly window: number
  /** Restarts over the run. */
  readonly restarts?: number
  /** Instead of the platform's. */
  readonly fetch?: (draw: Draw) => (url: string, init: RequestInit) => Promise<Response>
  /** What is made of the connection before the books see it. */
  readonly through?: (connection: AsyncIterable<Frame>, origin: Origin, books: Books) => AsyncIterable<Frame>
}

/** Runs until so many connections were cut and everything published has been read; then everything is closed. */
export async function chaos(
  options: ChaosOptions,
): Promise<{ origin: Origin; books: Books[]; proxy: ChaosProxy }> {
  const draw = drawFrom(SEED)
  const origin = new Origin(draw, options.bus)
  await origin.start()
  let calm = false
  const proxy = await chaosProxy(origin.port, () => (calm ? undefined : drawFate(draw, 2500)))
  const controller = new AbortController()
  const { signal } = controller
  onTestFinished(() => controller.abort())
  const deadline = performance.now() + timeFor(options.cuts)
  const books = Array.from({ length: options.clients }, () => new Books())
  const errors = new Map<string, number>()

  const read = async (own: Books) => {
    const connection = connectBus(proxy.url, {
      lastEventId: 'e1:0',
      retryMs: 0,
      // Whoever meets a silence has only these; on a busy machine they may end others too, which is one cut more.
      connectTimeoutMs: 150,
      idleTimeoutMs: 80,
      fetch: options.fetch?.(draw),
      signal,
      onRetry: ({ error }) => {
        const { message, cause } = (error ?? new Error('ended')) as Error
        const text = cause instanceof Error ? `${message}: ${cause.message}` : message
        errors.set(text, (errors.get(text) ?? 0) + 1)
      },
      onError: (error) => {
        throw error
      },
    })
    const frames = options.through?.(connection, origin, own) ?? connection
    for await (const frame of frames) own.enter(frame)
  }

  const isBehind = (own: Books, most: number) =>
    own.epoch !== origin.bus.epoch || own.last < origin.bus.lastEventId - most

  const publish = async () => {
    let restarts = 0
    const { cuts, restarts: all = 0, burst, window } = options
    while (proxy.cuts < cuts || restarts < all) {
      if (performance.now() > deadline) throw new Error('it takes too long')
      if (restarts < all && proxy.cuts * (all + 1) >= cuts * (restarts + 1)) {
        restarts++
        await origin.restart(proxy)
      }
      if (!books.some((own) => isBehind(own, window))) origin.publish(1 + draw(burst))
      await turn()
      signal.throwIfAborted()
    }
    calm = true
    origin.publish(1)
    while (books.some((own) => isBehind(own, 0))) {
      if (performance.now() > deadline) throw new Error('the last events do not come')
      await turn()
      signal.throwIfAborted()
    }
  }

  const readers = books.map(read)
  try {
    await Promise.race([publish(), ...readers])
    if (!calm) throw new Error('a client ended by itself')
    controller.abort()
    await Promise.all(readers)
    await until(() => origin.bus.subscriberCount === 0, 'the bus to have no subscriber left')
    await proxy.close()
    await until(() => proxy.sockets === 0, 'every socket to be closed')
  } catch (cause) {
    const state = JSON.stringify({
      cuts: proxy.cuts,
      sockets: proxy.sockets,
      bus: [origin.bus.epoch, origin.bus.lastEventId],
      books,
      errors: Object.fromEntries(errors),
    })
    throw new Error(`${(cause as Error).message}\nCHAOS_SEED=${SEED} CHAOS_CUTS=${options.cuts}\n${state}`, {
      cause,
    })
  }
  return { origin, books, proxy }
}
