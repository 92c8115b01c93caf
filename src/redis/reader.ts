/**
 * One blocking read over the streams of all buses of a process, each from where its bus stands. An entry that comes twice
 * is known by its id; the read that a bus joins is broken off and begun again with it.
 */

import { after } from '../internal/timer.ts'
import type { Connection } from './connection.ts'
import { PageSize } from './page-size.ts'

const BLOCK_MS = '2000'
const RETRY_MS = 100
const UNBLOCK_MS = 5

/** A stream entry as it comes: its id, then names and values in turn. */
export type Entry = readonly [id: string, fields: readonly string[]]

/** A stream that is read. */
export interface Tail {
  readonly key: string
  /** Something is to be expected of it. */
  readonly isRead: boolean
  /** What this node publishes is on its way, and nobody else's event has been between: it hears all there is. */
  readonly isTold: boolean
  /** The last id read. */
  readonly head: number
  /** Goes up when what was read so far says nothing about what comes. */
  readonly turn: number
  /** Compares the stream with what is known of it. */
  look(): Promise<unknown>
  /** Takes what was read behind the head of `turn`. */
  feed(entries: readonly Entry[], turn: number): Promise<void>
}

export class Reader {
  readonly #tails: ReadonlySet<Tail>
  readonly #connection: Connection
  readonly #pageSize = new PageSize()
  readonly #unblock: (id: string) => Promise<unknown>
  /** Which run of the loop is the one. */
  #run = 0
  /** The read under way, if one is. */
  #reading: Promise<unknown> | undefined
  #interrupted = false
  /** False while there is nothing to read, or nowhere to read it from. */
  #isLooping = false

  constructor(tails: ReadonlySet<Tail>, connection: Connection, unblock: (id: string) => Promise<unknown>) {
    this.#tails = tails
    this.#connection = connection
    this.#unblock = unblock
  }

  get up(): boolean {
    return this.#connection.up
  }

  open(): void {
    this.#connection.open()
  }

  close(): void {
    this.#run++
    this.#connection.close()
  }

  watch(ms: number): void {
    this.#connection.watch(ms)
  }

  /** Reads, from now on or no more. */
  run(up: boolean): void {
    const run = ++this.#run
    this.#isLooping = up
    if (up) void this.#loop(run, false)
  }

  /** Goes on, where it rested because every stream was told of. */
  wake(): void {
    if (this.#isLooping || !this.up) return
    this.#isLooping = true
    void this.#loop(this.#run, true)
  }

  /** Begins the read under way again, since there is more to read. */
  async interrupt(): Promise<void> {
    this.wake()
    if (this.#interrupted) return
    this.#interrupted = true
    const reading = this.#reading
    try {
      // The command may be on its way and not block yet.
      while (reading !== undefined && this.#reading === reading && this.up) {
        if (Number(await this.#unblock(this.#connection.id)) === 1) break
        await new Promise<void>((resolve) => after(UNBLOCK_MS, resolve, 'awaited'))
      }
    } catch {
      // Lost, or not allowed: the read ends by itself before long.
    } finally {
      this.#interrupted = false
    }
  }

  /** Unless it is sure of them, compares the streams first: another server may have taken over. */
  async #loop(run: number, isSure: boolean): Promise<void> {
    while (run === this.#run) {
      if (!isSure) await Promise.allSettled(Array.from(this.#tails, (tail) => tail.look()))
      isSure = true
      const tails = Array.from(this.#tails).filter((tail) => tail.isRead)
      const places = new Map<string, number>()
      for (const { key, head } of tails) places.set(key, Math.min(head, places.get(key) ?? head))
      if (run !== this.#run) return
      // What a publisher is told of need not be read as well, which would take as long again; nor is nothing read.
      if (tails.every((tail) => tail.isTold)) break
      const turns = tails.map((tail) => tail.turn)
      const heads = Array.from(places.values(), (head) => `0-${head}`)
      try {
        this.#reading = this.#connection.send(
          'XREAD',
          'COUNT',
          this.#pageSize.count,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          ...places.keys(),
          ...heads,
        )
        const reply = entriesByKey(await this.#reading)
        if (run !== this.#run) return
        for (const entries of reply.values()) this.#pageSize.saw(entries)
        await Promise.all(tails.map((tail, at) => tail.feed(reply.get(tail.key) ?? [], turns[at] as number)))
      } catch {
        if (run !== this.#run) return
        // One of the keys cannot be read, or the server is not ready.
        await new Promise<void>((resolve) => after(RETRY_MS, resolve))
        isSure = false
      }
    }
    this.#isLooping = false
  }
}

/** Redis answers with a list of pairs, or with a map where the client speaks RESP3. */
function entriesByKey(reply: unknown): Map<string, Entry[]> {
  return new Map(Array.isArray(reply) ? reply : Object.entries(reply ?? {}))
}
