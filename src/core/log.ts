/**
 * The events that a bus retains: always a contiguous suffix of what was published, bounded by count and by bytes.
 *
 * A circular array cut into chunks, and shared by every subscriber. A reader takes the list of chunks by reference; what
 * is written afterwards is written into copies, made chunk by chunk as the log gets there. So resuming costs the same on
 * any ring, and what a stalled reader keeps alive is the ring as it stood. Chunks linked to their successors would let it
 * pin everything published since.
 */

import { sizeOf } from '../internal/kept.ts'
import type { BusEvent } from './event.ts'

/** Events in neighbouring slots. Those that left the log are undefined. */
type Chunk = (BusEvent | undefined)[]

/** Looks up an event that was retained when a reader asked. */
export type Retained = (id: number) => BusEvent

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
  readonly #ringSize: number
  readonly #maxBytes: number
  /** log2 of a chunk's length: near the root of the ring's, which balances the two copies that follow a reader's visit. */
  readonly #shift: number
  readonly #mask: number
  #chunks: readonly Chunk[] = []
  /** The slot of the next event. */
  #next = 0
  /** The chunk where it goes, up to the slot that is in another one; a reader's visit brings that slot to it. */
  #open: Chunk = []
  #until = 0
  /** How many readers have come, and how many had when each chunk was made: no later one holds it. */
  #visits = 0
  readonly #madeAt: number[] = []

  constructor({ ringSize, maxRingBytes, startAfterId }: LogOptions) {
    this.#ringSize = ringSize
    this.#maxBytes = maxRingBytes
    this.#shift = Math.ceil(Math.log2(ringSize + 1) / 2)
    this.#mask = (1 << this.#shift) - 1
    this.lastId = startAfterId
  }

  /** The eviction watermark: the oldest retained id, or the next id where nothing is retained. */
  get earliestId(): number {
    return this.lastId + 1 - this.size
  }

  /** Retains an event, whose id must be the next one. One that is larger than the cap empties the log. */
  append(event: BusEvent, bytes: number): void {
    this.lastId = event.id
    if (this.#ringSize === 0) return
    if (this.#next === this.#until) this.#turn()
    const at = this.#next++ & this.#mask
    if (this.size < this.#ringSize) this.size++
    // The slot of the oldest event is the one that is written next.
    else if (this.bytes > 0) this.bytes -= sizeOf(this.#open[at] as BusEvent)
    this.#open[at] = event
    this.bytes += bytes
    while (this.bytes > this.#maxBytes) this.#evict()
  }

  clear(): void {
    this.#chunks = this.#open = []
    this.size = this.bytes = 0
  }

  /** Looks up what is retained now by its id, however far the log moves on. */
  read(): Retained {
    this.#visits++
    this.#until = this.#next
    const chunks = this.#chunks
    const shift = this.#shift
    const mask = this.#mask
    const ringSize = this.#ringSize
    const offset = this.#next - 1 - this.lastId
    return (id) => {
      let slot = id + offset
      if (slot < 0) slot += ringSize
      return (chunks[slot >> shift] as Chunk)[slot & mask] as BusEvent
    }
  }

  /** Goes on in a chunk that no reader holds, at the first one behind the last. */
  #turn(): void {
    if (this.#next === this.#ringSize) this.#next = 0
    this.#open = this.#own(this.#next)
    this.#until = Math.min((this.#next | this.#mask) + 1, this.#ringSize)
  }

  /** Lets the oldest event go, so that nothing of the bus reaches it. */
  #evict(): void {
    let slot = this.#next - this.size--
    if (slot < 0) slot += this.#ringSize
    const chunk = this.#own(slot)
    const at = slot & this.#mask
    this.bytes -= sizeOf(chunk[at] as BusEvent)
    chunk[at] = undefined
  }

  /** The chunk of a slot, copied where a reader may hold it. */
  #own(slot: number): Chunk {
    const index = slot >> this.#shift
    if (this.#madeAt[index] !== this.#visits) {
      const chunks = this.#chunks.slice()
      chunks[index] = this.#chunks[index]?.slice() ?? []
      this.#chunks = chunks
      this.#madeAt[index] = this.#visits
    }
    return this.#chunks[index] as Chunk
  }
}
