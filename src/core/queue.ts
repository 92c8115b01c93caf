/**
 * A bounded FIFO between code that must never wait and a reader that may.
 *
 * What is kept: everything accepted, until it is read or dropped by `close({ drain: false })` or `return()`. Who misses
 * what: nobody; a value that does not fit is refused at `push`, and the caller decides. A reader that waits is handed the
 * value at once, so what it takes is never part of the backlog. Overlapping reads are answered first come, first served.
 */

import { check, drains, option, wrongType } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'

export interface BoundedAsyncQueueOptions {
  /** Live entries at the most; an integer ≥ 1, or `Infinity`. */
  maxSize: number
  /** Sum of the live entries' bytes at the most, default none. One larger entry still fits an empty queue. */
  maxBytes?: number | undefined
}

// What stands beside each entry: its bytes where it is live, or one of these marks where it never counts.
const FORCED = -1
const RUN = -2

const NOTHING = Symbol()
const BATCH_LIMIT = 256
const SPARE_SLOTS = 64

type Result<T> = IteratorResult<T, undefined>

/** A read that found nothing yet. */
interface Waiter {
  readonly take: () => unknown
  readonly resolve: (result: Result<never>) => void
  readonly reject: (error: unknown) => void
}

export class BoundedAsyncQueue<T> implements AsyncIterableIterator<T> {
  readonly #maxSize: number
  readonly #maxBytes: number
  // Entries and their marks by turns: an object for each entry would be a third memory access and 40 bytes.
  #slots: unknown[] = []
  #head = 0
  #size = 0
  #bytes = 0
  #closed = false
  #pulling = false
  #failure: { readonly error: unknown } | undefined
  // A set keeps the order of arrival, and gives its oldest up in O(1) however many overlap.
  readonly #waiters = new Set<Waiter>()

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: BoundedAsyncQueueOptions) {
    this.#maxSize = check('maxSize', check('options', options, 'object').maxSize, 'number')
    this.#maxBytes = option(options, 'maxBytes', 'number', Infinity)
  }

  /** Live entries that are not read yet. */
  get size(): number {
    return this.#size
  }

  /** Bytes of the live entries that are not read yet. */
  get bytes(): number {
    return this.#bytes
  }

  get closed(): boolean {
    return this.#closed
  }

  /**
   * Appends a live entry, or hands it to the read that waits. False, and nothing changed, when the queue is full or
   * closed. Never throws and never waits; `bytes` that are no positive finite number count 0.
   */
  push(value: T, bytes = 0): boolean {
    const weight = bytes > 0 && bytes < Infinity ? bytes : 0
    const full = this.#size >= this.#maxSize || (this.#size > 0 && this.#bytes + weight > this.#maxBytes)
    if (full || this.#closed) return false
    this.#size++
    this.#bytes += weight
    this.#append(value, weight)
    return true
  }

  /** Appends an entry that never counts, wherever it stands. Nothing happens on a closed queue. */
  forcePush(value: T): void {
    this.#append(value, FORCED)
  }

  /**
   * Appends a run of entries that never count, pulled one by one as the reader gets there. A run that throws is over, and
   * the read that met it rejects with its error; the entries behind it follow. A run that is dropped is closed by its
   * `return`. Throws `TypeError` when `values` cannot be iterated. Nothing happens on a closed queue.
   */
  forcePushAll(values: Iterable<T>): void {
    if (typeof values?.[Symbol.iterator] !== 'function') throw wrongType('values', 'iterable', values)
    this.#append(values[Symbol.iterator](), RUN)
  }

  /** Takes no more. What is queued stays readable, or, with `drain: false`, is dropped. Reads that wait end as done. */
  close(options: { drain?: boolean | undefined } = {}): void {
    if (!drains(options)) this.#drop()
    this.#closed = true
    this.#serve()
  }

  /** The next entry without waiting, or undefined. Throws what a run throws. */
  tryNext(): T | undefined {
    const value = this.#busy ? NOTHING : this.#take()
    return value === NOTHING ? undefined : value
  }

  next(): Promise<Result<T>> {
    return this.#read(this.#take)
  }

  /** All that is ready, at most 256 entries; waits for the first one where nothing is. */
  nextBatch(): Promise<Result<T[]>> {
    return this.#read(this.#takeBatch)
  }

  /** Ends the queue: drops what is queued, ends every read that waits, and settles at once. */
  async return(value?: unknown): Promise<Result<T>> {
    this.close({ drain: false })
    return { value: value as undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [asyncDispose](): Promise<void> {
    this.close({ drain: false })
  }

  /** Called with each entry at the moment it is handed to the reader; for subclasses. */
  protected handedOut(_value: T): void {}

  /** Whether what a closed queue still holds is not to be read any more; for subclasses. */
  protected abandoned(): boolean {
    return false
  }

  /** The live entry that is to be read next, for subclasses. */
  protected firstLive(): T | undefined {
    const slots = this.#slots
    let at = this.#head
    while (at < slots.length && (slots[at + 1] as number) < 0) at += 2
    return slots[at] as T | undefined
  }

  /** True where a read must wait its turn: behind others, or behind the run whose code made it. */
  get #busy(): boolean {
    return this.#pulling || this.#waiters.size > 0
  }

  #append(value: unknown, mark: number): void {
    if (this.#closed) return
    this.#slots.push(value, mark)
    this.#serve()
  }

  #read<R>(take: () => R | typeof NOTHING): Promise<Result<R>> {
    if (!this.#busy) {
      try {
        const value = take.call(this)
        if (value !== NOTHING) return Promise.resolve({ value, done: false })
      } catch (error) {
        return Promise.reject(error)
      }
    }
    return new Promise((resolve, reject) => {
      this.#waiters.add({ take, resolve, reject })
      if (this.#closed) this.#serve()
    })
  }

  /** Answers the reads that wait, as far as there is something to read. */
  #serve(): void {
    for (const waiter of this.#waiters) {
      if (this.#pulling) return
      try {
        const value = waiter.take.call(this)
        if (value !== NOTHING) waiter.resolve({ value: value as never, done: false })
        else if (this.#closed) waiter.resolve({ value: undefined, done: true })
        else return
      } catch (error) {
        waiter.reject(error)
      }
      this.#waiters.delete(waiter)
    }
  }

  #take(): T | typeof NOTHING {
    if (this.#closed && this.#slots.length > 0 && this.abandoned()) this.close({ drain: false })
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      throw error
    }
    while (this.#head < this.#slots.length) {
      const value = this.#slots[this.#head + 1] === RUN ? this.#pull() : this.#shift()
      if (value !== NOTHING) {
        this.handedOut(value)
        return value
      }
    }
    return NOTHING
  }

  #takeBatch(): T[] | typeof NOTHING {
    const batch: T[] = []
    try {
      while (batch.length < BATCH_LIMIT) {
        const value = this.#take()
        if (value === NOTHING) break
        batch.push(value)
      }
    } catch (error) {
      // What was read before a run failed is given first; its error is the next read's.
      if (batch.length === 0) throw error
      this.#failure = { error }
    }
    return batch.length === 0 ? NOTHING : batch
  }

  #shift(): T {
    const slots = this.#slots
    const value = slots[this.#head] as T
    const mark = slots[this.#head + 1] as number
    slots[this.#head] = undefined
    this.#head += 2
    // Set, not subtracted, at the end: sums of fractions need not come back to 0.
    if (mark >= 0) this.#bytes = --this.#size === 0 ? 0 : this.#bytes - mark
    // Copies no more slots than were freed since the last time, so a shift costs O(1) in the long run.
    if (this.#head * 2 >= slots.length + SPARE_SLOTS) {
      this.#slots = slots.slice(this.#head)
      this.#head = 0
    }
    return value
  }

  /**
   * One entry of the run at the head, or nothing once it is over. A run is user code: it may read, push or close. Reads
   * that it makes wait, since they came later, and from a queue that it dropped nothing more comes.
   */
  #pull(): T | typeof NOTHING {
    const run = this.#slots[this.#head] as Iterator<T>
    let over: boolean | undefined = true
    this.#pulling = true
    try {
      const result = run.next()
      over = result.done
      return over || this.#slots.length === 0 ? NOTHING : (result.value as T)
    } finally {
      this.#pulling = false
      if (over && this.#slots.length > 0) this.#shift()
      if (this.#busy) queueMicrotask(() => this.#serve())
    }
  }

  #drop(): void {
    const dropped = this.#slots.slice(this.#head)
    this.#slots = []
    this.#head = this.#size = this.#bytes = 0
    this.#failure = undefined
    for (const run of dropped.filter((_, at) => dropped[at + 1] === RUN)) closeRun(run as Iterator<unknown>)
  }
}

function closeRun(run: Iterator<unknown>): void {
  try {
    run.return?.()
  } catch {
    // Nobody reads any more, so nobody is there to be told.
  }
}
