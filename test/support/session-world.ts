/** A session, its bus and one client, driven step by step, with what the client has read and what it must have. */

import { type BusEvent, EventBus, type Frame, type StateResyncRequired } from '../../src/index.ts'
import { ResumableSession } from '../../src/session/index.ts'
import { FENCE } from './session.ts'
import { FakeTransport } from './session-transport.ts'
import { hops } from './until.ts'

export type Step =
  | { readonly do: 'publish'; readonly count: number }
  | { readonly do: 'reply' | 'hold' | 'release' | 'open' | 'read' | 'refuse' }
  /** The connection is cut: the client loses so many of the items that it has not read yet, from the end. */
  | { readonly do: 'cut'; readonly lost: number }
  /** A connection beside the one that is there, or after one that was cut. */
  | { readonly do: 'connect'; readonly lost: number; readonly held: boolean }
  | { readonly do: 'turns'; readonly count: number }

interface Read {
  readonly message: unknown
  readonly id: number | undefined
}

export class World {
  readonly bus: EventBus
  readonly session: ResumableSession
  readonly hooks: Record<string, number> = {}
  /** What the client has read, over all connections. */
  readonly read: Read[] = []
  /** Replies by their text: the head when they were made. */
  readonly replies = new Map<string, number>()
  /** Ids of ordinary events. */
  readonly published: number[] = []
  /** Replies that a transport took although the client's cursor had confirmed them. */
  readonly unasked: string[] = []
  cursor: number
  #connection: Connection | undefined
  readonly #transports: FakeTransport[] = []
  /** Which replies each fence stands behind. */
  readonly #fences = new Map<number, string>()
  readonly #withCursor: boolean
  #lastTaken = ''

  constructor(options: { withCursor: boolean; ringSize?: number; maxQueued?: number }) {
    const { withCursor, ringSize = 1000, maxQueued = 256 } = options
    this.#withCursor = withCursor
    this.bus = new EventBus({ ringSize, maxQueued })
    const publish = this.bus.publish.bind(this.bus)
    this.bus.publish = (input) => {
      const event = publish(input)
      if (event?.type === FENCE) this.#fences.set(event.id, this.#lastTaken)
      return event
    }
    const count = (name: string) => () => {
      this.hooks[name] = (this.hooks[name] ?? 0) + 1
    }
    this.session = new ResumableSession({
      id: 's',
      bus: this.bus,
      graceMs: Infinity,
      onDetach: count('detach'),
      onReclaim: count('reclaim'),
      onReplace: count('replace'),
      onClose: count('close'),
      onExpire: count('expire'),
    })
    this.cursor = 0
  }

  get attached(): number {
    return this.#transports.filter((one) => !one.isClosed).length
  }

  async take(step: Step): Promise<void> {
    const transport = this.#connection?.transport
    switch (step.do) {
      case 'publish':
        for (let n = 0; n < step.count; n++) {
          this.published.push((this.bus.publish({ type: 'tick' }) as BusEvent).id)
        }
        return
      case 'reply': {
        const text = `R${this.replies.size + 1}`
        this.replies.set(text, this.bus.lastEventId)
        this.session.reply(text)
        return
      }
      case 'hold':
        if (transport) transport.held = true
        return
      case 'release':
        if (transport && transport.pending.length > 0) transport.release()
        return
      case 'open':
        transport?.open()
        return
      case 'refuse':
        transport?.refuse()
        return
      case 'read':
        this.#read(0)
        return
      case 'cut':
        this.#read(step.lost)
        transport?.drop()
        this.#connection = undefined
        return
      case 'connect':
        // A request is a task of its own: what a promise has said by then is known. With a cursor that does not matter.
        if (!this.#withCursor) await new Promise((resolve) => setImmediate(resolve))
        this.#read(step.lost)
        this.#connect(step.held)
        return
      case 'turns':
        await hops(step.count)
    }
  }

  /** Replies that went out on a resuming connection before its replay was complete. */
  get early(): unknown[] {
    const all = this.#withCursor ? this.#transports : []
    return all.flatMap(({ shown }) => {
      const end = shown.indexOf('replay_complete')
      return shown.slice(0, end < 0 ? shown.length : end).filter((one) => this.replies.has(`${one}`))
    })
  }

  /** Brings the client back, and lets it have everything. */
  async finish(): Promise<void> {
    this.#read(Infinity)
    this.#connection?.transport.drop()
    for (let n = 0; n < 20; n++) await undefined
    this.#connect()
    for (let quiet = 0, before = -1; quiet < 200; quiet++) {
      await undefined
      const { length } = this.#connection?.items ?? []
      if (length !== before) quiet = 0
      before = length
    }
    this.#read(0)
  }

  #connect(held = false): void {
    // An attach with a lower cursor voids a fence, also for whoever sees its id later.
    for (const id of this.#fences.keys()) if (id > this.cursor) this.#fences.delete(id)
    const confirmed = [...this.#fences.values()]
    const known = new Set(this.read.map(({ message }) => message))
    const transport = new FakeTransport({ held })
    const items: Read[] = []
    transport.onTake = (message, id) => {
      items.push({ message, id })
      if (typeof message !== 'string') return
      this.#lastTaken = message
      if (this.#withCursor && confirmed.includes(message) && known.has(message)) this.unasked.push(message)
    }
    this.#connection = { transport, items }
    this.#transports.push(transport)
    this.session.attach(transport, this.#withCursor ? { lastEventId: this.cursor } : undefined)
  }

  /** The client reads what its connection took, but for the last `lost` items; a client without cursors loses none. */
  #read(lost: number): void {
    const items = this.#connection?.items ?? []
    const kept = this.#withCursor ? Math.max(0, items.length - lost) : items.length
    for (const item of items.splice(0, kept)) {
      if (item.message !== undefined) this.read.push(item)
      const frame = item.message as Frame | string
      if (item.id !== undefined) this.cursor = item.id
      else if (typeof frame === 'object' && frame?.type === 'state_resync_required') {
        this.cursor = (frame as StateResyncRequired).data.earliestAvailableId - 1
      }
    }
  }
}

/** A connection as the client sees it. */
interface Connection {
  readonly transport: FakeTransport
  /** Taken, and not read by the client yet. */
  readonly items: Read[]
}
