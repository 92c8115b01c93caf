/**
 * The events that a bus retains: always a contiguous suffix of what was published, bounded by count and by bytes.
 *
 * One log is shared by every subscriber. It is a list of chunks, and the list (the spine) is never changed in place, so a
 * reader takes it by reference: resuming costs the same on any ring, and what a stalled reader keeps alive is the ring as
 * it stood, and a chunk. Chunks linked to their successors would let it pin everything published since.
 */

import { sizeOf } from '../internal/kept.ts'
import type { BusEvent } from './event.ts'

/** Events with ascending ids. Those that left the log are undefined. */
export type Chunk = readonly (BusEvent | undefined)[]

export interface LogOptions {
  readonly ringSize: number
  readonly maxRingBytes: number
  readonly startAfterId: number
}

export class EventLog {
  /** The id of the last event, retained or not. */
  lastId: number
  /** How many events are retained. */
  size = 0
  /** Their bytes; 0 where nothing is measured. */
  bytes = 0
  readonly #options: LogOptions
  #spine: readonly (BusEvent | undefined)[][] = []
  /** How many events have left the oldest chunk. */
  #gone = 0
  /** A reader may hold the oldest chunk, which is then left as it is. */
  #shared = false

  constructor(options: LogOptions) {
    this.#options = options
    this.lastId = options.startAfterId
  }

  /** The eviction watermark: the oldest retained id, or the next id where nothing is retained. */
  get earliestId(): number {
    return this.lastId + 1 - this.size
  }

  /** Retains an event, whose id must be the next one. One that is larger than the cap empties the log. */
  append(event: BusEvent, bytes: number): void {
    let open = this.#spine[this.#spine.length - 1]
    // The root balances the two copies that follow a reader's visit: of the spine, and of the oldest chunk.
    if (open === undefined || 4 * open.length * open.length >= this.size) {
      open = []
      this.#spine = [...this.#spine, open]
    }
    open.push(event)
    this.lastId = event.id
    this.size++
    this.bytes += bytes
    while (this.size > this.#options.ringSize || this.bytes > this.#options.maxRingBytes) this.#evict()
  }

  clear(): void {
    this.#spine = []
    this.size = this.bytes = this.#gone = 0
  }

  /** The chunks with every retained event, as they are now, however far the log moves on; later ones may follow in the last. */
  read(): readonly Chunk[] {
    this.#shared = true
    return this.#spine
  }

  /** Lets the oldest event go, so that nothing of the bus reaches it. */
  #evict(): void {
    let oldest = this.#spine[0] as (BusEvent | undefined)[]
    if (this.#shared) {
      oldest = oldest.slice()
      this.#spine = [oldest, ...this.#spine.slice(1)]
      this.#shared = false
    }
    if (this.bytes > 0) this.bytes -= sizeOf(oldest[this.#gone] as BusEvent)
    this.size--
    oldest[this.#gone++] = undefined
    if (this.#gone === oldest.length) {
      this.#spine = this.#spine.slice(1)
      this.#gone = 0
      this.#shared = true
    }
  }
}
