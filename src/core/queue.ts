/**
 * A bounded FIFO between code that must never wait and a reader that may.
 *
 * What is kept: everything accepted, until it is read or dropped by `close({ drain: false })` or `return()`. Who misses
 * what: nobody; a value that does not fit is refused at `push`, and the caller decides. A reader that waits is handed the
 * value at once, so what it takes is never part of the backlog. Overlapping reads are answered first come, first served.
 */

import { checkDrain, checkInteger, checkType, wrongType } from '../internal/check.ts'
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
const NO_SLOTS: never[] = []
const FIRST_CAPACITY = 8
// A ring that one excursion made larger than this is given back when it has been drained.
const KEPT_CAPACITY = 256
const BATCH_LIMIT = 256

type Result<T> = IteratorResult<T, undefined>

/** A read that found nothing yet. */
interface Waiter {
  readonly take: () => unknown
  readonly resolve: (result: Result<never>) => void
  readonly reject: (error: unknown) => void
}

function done(value?: unknown): Promise<Result<never>> {
  return Promise.resolve({ value: value as undefined, done: true })
}

export class BoundedAsyncQueue<T> implements AsyncIterableIterator<T> {
  readonly #maxSize: number
  readonly #maxBytes: number
  // One power-of-two ring in two arrays: an entry object each would cost 40 bytes more.
  #values: unknown[] = NO_SLOTS
  #marks: number[] = NO_SLOTS
  #head = 0
  #length = 0
  #size = 0
  #bytes = 0
  #closed = false
  #pulling = false
  #failure: { error: unknown } | undefined
  // A set keeps the order of arrival, and gives its oldest up in O(1) however many overlap.
  readonly #waiters = new Set<Waiter>()

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: BoundedAsyncQueueOptions) {
    const { maxSize, maxBytes = Infinity } = checkType('options', options, 'object')
    this.#maxSize = checkInteger('maxSize', maxSize)
    this.#maxBytes = checkInteger('maxBytes', maxBytes)
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
    const fits = this.#size < this.#maxSize && (this.#size === 0 || this.#bytes + weight <= this.#maxBytes)
    if (this.#closed || !fits) return false
    this.#size++
    this.#bytes += weight
    this.#append(value, weight)
    return true
  }

  /** Appends an entry that never counts, wherever it stands. Nothing happens on a closed queue. */
  forcePush(value: T): void {
    if (!this.#closed) this.#append(value, FORCED)
  }

  /**
   * Appends a run of entries that never count, pulled one by one as the reader gets there. A run that throws is over, and
   * the read that met it rejects with its error; the entries behind it follow. A run that is dropped is closed by its
   * `return`. Throws `TypeError` when `values` cannot be iterated. Nothing happens on a closed queue.
   */
  forcePushAll(values: Iterable<T>): void {
    if (typeof values?.[Symbol.iterator] !== 'function') throw wrongType('values', 'an iterable', values)
    if (!this.#closed) this.#append(values[Symbol.iterator](), RUN)
  }

  /** Takes no more. What is queued stays readable, or, with `drain: false`, is dropped. Reads that wait end as done. */
  close(options: { drain?: boolean | undefined } = {}): void {
    const drain = checkDrain(options)
    this.#closed = true
    if (!drain) this.#drop()
    this.#serve()
  }

  /** The next entry without waiting, or undefined. Throws what a run throws. */
  tryNext(): T | undefined {
    const value = this.#ready ? this.#take() : NOTHING
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
  return(value?: unknown): Promise<Result<T>> {
    this.close({ drain: false })
    return done(value)
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
  protected get abandoned(): boolean {
    return false
  }

  /** The live entry that is to be read next, for subclasses. */
  protected firstLive(): T | undefined {
    for (let i = 0; i < this.#length; i++) {
      const at = (this.#head + i) & (this.#values.length - 1)
      if ((this.#marks[at] as number) >= 0) return this.#values[at] as T
    }
    return undefined
  }

  #append(value: unknown, mark: number): void {
    if (this.#length === this.#values.length) this.#grow()
    const at = (this.#head + this.#length++) & (this.#values.length - 1)
    this.#values[at] = value
    this.#marks[at] = mark
    this.#serve()
  }

  #grow(): void {
    const head = this.#head
    const turned = <V>(ring: V[]): V[] => [
      ...ring.slice(head),
      ...ring.slice(0, head),
      ...Array(ring.length || FIRST_CAPACITY),
    ]
    this.#values = turned(this.#values)
    this.#marks = turned(this.#marks)
    this.#head = 0
  }

  /** False where a read must wait its turn: behind others, or behind the run whose code made it. */
  get #ready(): boolean {
    return this.#waiters.size === 0 && !this.#pulling
  }

  #read<R>(take: () => R | typeof NOTHING): Promise<Result<R>> {
    if (this.#ready) {
      try {
        const value = take.call(this)
        if (value !== NOTHING) return Promise.resolve({ value, done: false })
      } catch (error) {
        return Promise.reject(error)
      }
      if (this.#closed) return done()
    }
    return new Promise((resolve, reject) => {
      this.#waiters.add({ take, resolve, reject })
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
    if (this.#closed && this.abandoned) this.close({ drain: false })
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      throw error
    }
    while (this.#length > 0) {
      const mark = this.#marks[this.#head] as number
      let value = this.#values[this.#head] as T | typeof NOTHING
      if (mark === RUN) value = this.#pull(value as Iterator<T>)
      else this.#shift(mark)
      if (value === NOTHING) continue
      this.handedOut(value)
      return value
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

  #shift(mark: number): void {
    this.#values[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#values.length - 1)
    // Set, not subtracted, at the end: sums of fractions need not come back to 0.
    if (mark >= 0) this.#bytes = --this.#size === 0 ? 0 : this.#bytes - mark
    if (--this.#length === 0 && this.#values.length > KEPT_CAPACITY) this.#drop()
  }

  /**
   * One entry of the run at the head, or nothing once it is over. A run is user code: it may read, push or close. Reads
   * that it makes wait, since they came later, and from a queue that it dropped nothing more comes.
   */
  #pull(run: Iterator<T>): T | typeof NOTHING {
    let over: boolean | undefined = true
    this.#pulling = true
    try {
      const result = run.next()
      over = result.done
      return over || this.#length === 0 ? NOTHING : (result.value as T)
    } finally {
      this.#pulling = false
      if (over && this.#length > 0) this.#shift(RUN)
      if (this.#waiters.size > 0) queueMicrotask(() => this.#serve())
    }
  }

  #drop(): void {
    const values = this.#values
    const marks = this.#marks
    this.#values = this.#marks = NO_SLOTS
    this.#head = this.#length = this.#size = this.#bytes = 0
    this.#failure = undefined
    for (const [at, run] of values.entries()) {
      if (marks[at] === RUN) closeRun(run as Iterator<unknown> | undefined)
    }
  }
}

/** A slot whose run is over holds undefined. */
function closeRun(run: Iterator<unknown> | undefined): void {
  try {
    run?.return?.()
  } catch {
    // Nobody reads any more, so nobody is there to be told.
  }
}
