/** A transport in a test's hand: what it was sent, in short notation, and when a send settles. */

import type { Frame } from '../../src/index.ts'
import type { TransportStream } from '../../src/session/index.ts'
import { notationOf } from './frames.ts'

/** An event is its id, a control frame its type, a reply its text, a moved cursor `cursor n`. */
export type Sent = number | string

interface Pending {
  readonly note: Sent
  resolve(): void
  reject(error: unknown): void
}

export class FakeTransport implements TransportStream {
  /** What it took. */
  readonly taken: Sent[] = []
  /** The messages that it took, and their ids. */
  readonly messages: { message: unknown; id: number | undefined }[] = []
  /** Reasons of every close by the session. */
  readonly closes: (string | undefined)[] = []
  /** Sends that wait for `release`, `refuse` or `drop`. */
  readonly pending: Pending[] = []
  /** Told of everything as it is taken; a moved cursor has no message. */
  onTake: ((message: unknown, id: number | undefined) => void) | undefined
  /** Sends wait until they are released. */
  held = false
  isClosed = false
  readonly closed: Promise<void>
  #over!: () => void

  constructor(options: { held?: boolean } = {}) {
    this.held = options.held === true
    this.closed = new Promise((resolve) => {
      this.#over = resolve
    })
  }

  send(message: unknown, id?: number): Promise<void> {
    return this.#take(id ?? noteOf(message), () => {
      this.messages.push({ message, id })
      this.onTake?.(message, id)
    })
  }

  cursor(id: number): Promise<void> {
    return this.#take(`cursor ${id}`, () => this.onTake?.(undefined, id))
  }

  close(reason?: string): void {
    this.closes.push(reason)
    this.drop()
  }

  /** The client is gone: whatever is pending fails. */
  drop(): void {
    this.isClosed = true
    for (const one of this.pending.splice(0)) one.reject(new Error('closed'))
    this.#over()
  }

  /** Takes the oldest pending send. */
  release(): void {
    const one = this.pending.shift()
    if (one === undefined) throw new Error('no send is pending')
    one.resolve()
  }

  /** Fails the oldest pending send, and stays open. */
  refuse(error: unknown = new Error('refused')): void {
    this.pending.shift()?.reject(error)
  }

  /** Takes everything from now on. */
  open(): void {
    this.held = false
    for (const one of this.pending.splice(0)) one.resolve()
  }

  /** What it took, without moved cursors. */
  get shown(): Sent[] {
    return this.taken.filter((one) => !`${one}`.startsWith('cursor '))
  }

  #take(note: Sent, record: () => void): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('closed'))
    const take = () => {
      this.taken.push(note)
      record()
    }
    if (!this.held) {
      take()
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const taken = () => {
        take()
        resolve()
      }
      this.pending.push({ note, resolve: taken, reject })
    })
  }
}

function noteOf(message: unknown): Sent {
  if (typeof message === 'string') return message
  const notation = notationOf(message as Frame)
  return typeof notation === 'object' ? notation.type : notation
}
