/**
 * The replies of one session, in their order: those that are to be sent, and those that a transport took and no client has
 * confirmed yet. Bounded; what was taken once may be dropped, what was not never is.
 */

import { utf8 } from '../internal/kept.ts'

/** Behind the event `id` on a bus of that epoch. */
export interface Place {
  readonly epoch: string
  readonly id: number
}

export interface Reply {
  readonly message: unknown
  /** UTF-8 bytes of its JSON. */
  readonly bytes: number
  /** Every event published before it is up to here. */
  readonly behind: Place
}

interface Kept extends Reply {
  /** A transport took it at least once. */
  taken: boolean
  /** Whoever saw this place after the last sending has the reply. */
  fence: Place | undefined
}

export interface ReplyLimits {
  readonly maxReplies: number
  readonly maxReplyBytes: number
}

/** What several queues may hold together. */
export class ReplyPool {
  readonly #maxBytes: number
  readonly #queues = new Set<ReplyQueue>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Takes so many bytes for a queue, where need be of replies that any queue can spare: its own first. */
  reserve(bytes: number, queue: ReplyQueue): boolean {
    this.#queues.add(queue)
    const fits = () => this.#bytes + bytes <= this.#maxBytes
    while (!fits() && queue.spare());
    for (const other of fits() ? [] : this.#queues) {
      while (!fits() && other.spare());
    }
    if (!fits()) return false
    this.#bytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#bytes -= bytes
  }

  leave(queue: ReplyQueue): void {
    this.#queues.delete(queue)
  }
}

export class ReplyQueue {
  pool: ReplyPool
  readonly #limits: ReplyLimits
  /** To be sent, in order. Those that were taken before stand in front: they are older. */
  #due = new Set<Kept>()
  /** Taken, by the number of their last sending; all older than those that are due. */
  readonly #unconfirmed = new Map<number, Kept>()
  #sendings = 0
  #bytes = 0

  constructor(limits: ReplyLimits, pool: ReplyPool) {
    this.#limits = limits
    this.pool = pool
  }

  /** False where it does not fit, though everything was dropped that may be. */
  add(reply: Reply): boolean {
    const { maxReplies, maxReplyBytes } = this.#limits
    while (this.#count >= maxReplies || this.#bytes + reply.bytes > maxReplyBytes) {
      if (!this.spare()) return false
    }
    if (!this.pool.reserve(reply.bytes, this)) return false
    this.#bytes += reply.bytes
    this.#due.add({ ...reply, taken: false, fence: undefined })
    return true
  }

  /** The next one to be sent. */
  get next(): Reply | undefined {
    return first(this.#due)
  }

  /** A transport took it. Returns the number of this sending, or undefined for one that was dropped meanwhile. */
  taken(reply: Reply): number | undefined {
    const kept = reply as Kept
    if (!this.#due.delete(kept)) return undefined
    kept.taken = true
    kept.fence = undefined
    this.#unconfirmed.set(++this.#sendings, kept)
    return this.#sendings
  }

  /** Where the fence of a sending stands. One that was voided meanwhile proves nothing. */
  fenced(sending: number, place: Place): void {
    const kept = this.#unconfirmed.get(sending)
    if (kept) kept.fence ??= place
  }

  /**
   * A client comes back with a cursor, or with none that is good. What was taken behind the last reply whose fence it has
   * seen is due again, and its fences are void. The rest waits for `confirm`.
   */
  resume(cursor?: Place): void {
    const again: Kept[] = []
    for (const [sending, kept] of [...this.#unconfirmed].reverse()) {
      if (kept.fence && kept.fence.epoch === cursor?.epoch && kept.fence.id <= cursor.id) break
      this.#unconfirmed.delete(sending)
      again.push(kept)
    }
    this.#due = new Set([...again.reverse(), ...this.#due])
  }

  /** The client has all that was taken. */
  confirm(): void {
    for (const kept of this.#unconfirmed.values()) this.#release(kept)
    this.#unconfirmed.clear()
  }

  /** Drops the oldest reply that a transport took once; false where there is none. */
  spare(): boolean {
    const [sending, kept] = first(this.#unconfirmed) ?? [0, first(this.#due)]
    if (!kept?.taken) return false
    this.#unconfirmed.delete(sending)
    this.#due.delete(kept)
    this.#release(kept)
    return true
  }

  clear(): void {
    this.#unconfirmed.clear()
    this.#due.clear()
    this.pool.release(this.#bytes)
    this.pool.leave(this)
    this.#bytes = 0
  }

  get #count(): number {
    return this.#due.size + this.#unconfirmed.size
  }

  #release({ bytes }: Reply): void {
    this.#bytes -= bytes
    this.pool.release(bytes)
  }
}

/** UTF-8 bytes of a message's JSON. Throws `TypeError` where JSON cannot carry it. */
export function bytesOf(message: unknown): number {
  let json: string | undefined
  try {
    json = JSON.stringify(message)
  } catch (cause) {
    throw new TypeError('message must be JSON', { cause })
  }
  return utf8(json ?? 'null').length
}

function first<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value
  return undefined
}
