/**
 * The events that a bus retains: always a contiguous suffix of what was published, bounded by count and by bytes.
 *
 * One log is shared by every subscriber. It is a list of chunks, and the list (the spine) is never changed in place, so a
 * reader takes it by reference: resuming costs the same on any ring, and what a stalled reader keeps alive is the ring as
 * it stood, and a chunk. Chunks linked to their successors would let it pin everything published since.
 */

import { sizeOf } from '../internal/kept.ts'
import type { BusEvent } from './event.ts'

export interface Chunk {
  readonly firstId: number
  readonly events: (BusEvent | undefined)[]
  bytes: number
  /** The log's generation when this chunk was made: no reader that was taken before can hold it. */
  readonly generation: number
}

export interface LogOptions {
  readonly ringSize: number
  readonly maxRingBytes: number
  readonly startAfterId: number
}

export class EventLog {
  readonly #ringSize: number
  readonly #maxBytes: number
  #spine: readonly Chunk[] = []
  #generation = 0
  #earliestId: number
  #lastId: number
  #bytes = 0

  constructor({ ringSize, maxRingBytes, startAfterId }: LogOptions) {
    this.#ringSize = ringSize
    this.#maxBytes = maxRingBytes
    this.#lastId = startAfterId
    this.#earliestId = startAfterId + 1
  }

  get lastId(): number {
    return this.#lastId
  }

  /** The eviction watermark: the oldest retained id, or the next id where nothing is retained. */
  get earliestId(): number {
    return this.#earliestId
  }

  get size(): number {
    return this.#lastId + 1 - this.#earliestId
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Retains an event, whose id must be the next one. One that is larger than the cap empties the log. */
  append(event: BusEvent, bytes: number): void {
    this.#lastId = event.id
    if (this.#ringSize === 0 || bytes > this.#maxBytes) {
      this.clear()
      return
    }
    while (this.size > this.#ringSize || this.#bytes + bytes > this.#maxBytes) this.#evict()
    const chunk = this.#openChunk(event.id)
    chunk.events.push(event)
    chunk.bytes += bytes
    this.#bytes += bytes
  }

  clear(): void {
    this.#spine = []
    this.#bytes = 0
    this.#earliestId = this.#lastId + 1
  }

  /** The chunks with every retained event above `afterId`, as they are now, however far the log moves on. */
  read(afterId: number): readonly Chunk[] {
    // Who resumes at the head takes nothing, and so costs the next publish no copy.
    if (afterId >= this.#lastId) return []
    this.#generation++
    return this.#spine
  }

  /**
   * The chunk that takes the next event. The square root balances the two copies that follow a reader's visit: of the
   * spine, and of the oldest chunk. Bytes seal a chunk too, since a reader that stalls pins it as it fills.
   */
  #openChunk(firstId: number): Chunk {
    const last = this.#spine[this.#spine.length - 1]
    if (last && last.events.length < Math.sqrt(this.#ringSize) && last.bytes * 16 < this.#maxBytes)
      return last
    const chunk = { firstId, events: [], bytes: 0, generation: this.#generation }
    this.#spine = [...this.#spine, chunk]
    return chunk
  }

  /** Lets the oldest event go, so that nothing of the bus reaches it. A chunk that a reader may hold is left as it is. */
  #evict(): void {
    let oldest = this.#spine[0] as Chunk
    if (oldest.generation !== this.#generation) {
      oldest = { ...oldest, events: oldest.events.slice(), generation: this.#generation }
      this.#spine = [oldest, ...this.#spine.slice(1)]
    }
    const at = this.#earliestId++ - oldest.firstId
    if (this.#bytes > 0) this.#bytes -= sizeOf(oldest.events[at] as BusEvent)
    oldest.events[at] = undefined
    if (at === oldest.events.length - 1) this.#spine = this.#spine.slice(1)
  }
}
