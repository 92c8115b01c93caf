/**
 * A bounded FIFO between code that must never wait and a reader that may.
 *
 * What is kept: everything accepted, until it is read or dropped by `close({ drain: false })` or `return()`. Who misses
 * what: nobody; a value that does not fit is refused at `push`, and the caller decides. A reader that waits is handed the
 * value at once, so what it takes was never part of the backlog. Overlapping reads are answered first come, first served.
 */

import { checkCap, checkObject, wrongType } from '../internal/check.ts'
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
const FAILED = -3

const NOTHING = Symbol('nothing')
const NO_SLOTS: never[] = []
const FIRST_CAPACITY = 8
// A ring that one excursion made larger than this is given back when it has been drained.
const KEPT_CAPACITY = 256
const BATCH_LIMIT = 256

/** A read that found nothing yet. A linked list, since thousands may overlap and each end is touched in O(1). */
interface Waiter {
  readonly resolve: (result: IteratorResult<never, undefined>) => void
  readonly reject: (error: unknown) => void
  readonly batch: boolean
  behind: Waiter | undefined
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
  #waiting: Waiter | undefined = undefined
  #lastWaiting: Waiter | undefined = undefined

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: BoundedAsyncQueueOptions) {
    const { maxSize, maxBytes = Infinity } = checkObject('options', options)
    this.#maxSize = checkCap('maxSize', maxSize)
    this.#maxBytes = checkCap('maxBytes', maxBytes)
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
    if (this.#closed) return false
    if (this.#length === 0 && this.#waiting !== undefined) {
      this.#hand(value)
      return true
    }
    const weight = bytes > 0 && bytes < Infinity ? bytes : 0
    if (this.#size >= this.#maxSize) return false
    if (this.#size > 0 && this.#bytes + weight > this.#maxBytes) return false
    this.#append(value, weight)
    this.#size++
    this.#bytes += weight
    return true
  }

  /** Appends an entry that never counts, wherever it stands. Nothing happens on a closed queue. */
  forcePush(value: T): void {
    if (this.#closed) return
    if (this.#length === 0 && this.#waiting !== undefined) this.#hand(value)
    else this.#append(value, FORCED)
  }

  /**
   * Appends a run of entries that never count, pulled one by one as the reader gets there. A run that throws is over, and
   * the read that met it rejects with its error; the entries behind it follow. A run that is dropped is closed by its
   * `return`. Throws `TypeError` when `values` cannot be iterated. Nothing happens on a closed queue.
   */
  forcePushAll(values: Iterable<T>): void {
    if (values === null || typeof values?.[Symbol.iterator] !== 'function') {
      throw wrongType('values', 'an iterable', values)
    }
    if (this.#closed) return
    this.#append(values[Symbol.iterator](), RUN)
    this.#serve()
  }

  /** Takes no more. What is queued stays readable, or, with `drain: false`, is dropped. Reads that wait end as done. */
  close(options: { drain?: boolean | undefined } = {}): void {
    const { drain = true } = checkObject('options', options)
    this.#closed = true
    if (!drain) this.#drop()
    // With something queued nobody waits, but for reads made from inside a run: those are served when it returns.
    if (this.#length === 0) this.#release()
  }

  /** The next entry without waiting, or undefined. Throws what a run throws. */
  tryNext(): T | undefined {
    if (this.#pulling) return undefined
    try {
      const value = this.#take()
      return value === NOTHING ? undefined : value
    } finally {
      this.#serve()
    }
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#pulling) return this.#wait(false)
    try {
      const value = this.#take()
      if (value !== NOTHING) return Promise.resolve({ value, done: false })
    } catch (error) {
      return Promise.reject(error)
    } finally {
      this.#serve()
    }
    return this.#closed ? Promise.resolve({ value: undefined, done: true }) : this.#wait(false)
  }

  /** All that is ready, at most 256 entries; waits for the first one where nothing is. */
  nextBatch(): Promise<IteratorResult<T[], undefined>> {
    if (this.#pulling) return this.#wait(true)
    try {
      const batch = this.#takeBatch()
      if (batch.length > 0) return Promise.resolve({ value: batch, done: false })
    } catch (error) {
      return Promise.reject(error)
    } finally {
      this.#serve()
    }
    return this.#closed ? Promise.resolve({ value: undefined, done: true }) : this.#wait(true)
  }

  /** Ends the queue: drops what is queued, ends every read that waits, and settles at once. */
  return(value?: unknown): Promise<IteratorResult<T, undefined>> {
    this.close({ drain: false })
    return Promise.resolve({ value: value as undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  [asyncDispose](): Promise<void> {
    return this.return().then(() => undefined)
  }

  /** Called with each entry at the moment it is handed to the reader; for subclasses. */
  protected handedOut(_value: T): void {}

  /** The live entry that is to be read next, for subclasses. */
  protected firstLive(): T | undefined {
    const mask = this.#values.length - 1
    for (let i = 0; i < this.#length; i++) {
      const at = (this.#head + i) & mask
      if ((this.#marks[at] as number) >= 0) return this.#values[at] as T
    }
    return undefined
  }

  #append(value: unknown, mark: number): void {
    if (this.#length === this.#values.length) this.#grow()
    const at = (this.#head + this.#length) & (this.#values.length - 1)
    this.#values[at] = value
    this.#marks[at] = mark
    this.#length++
  }

  #grow(): void {
    const capacity = this.#values.length * 2 || FIRST_CAPACITY
    const values = new Array<unknown>(capacity)
    const marks = new Array<number>(capacity)
    const mask = this.#values.length - 1
    for (let i = 0; i < this.#length; i++) {
      const at = (this.#head + i) & mask
      values[i] = this.#values[at]
      marks[i] = this.#marks[at] as number
    }
    this.#values = values
    this.#marks = marks
    this.#head = 0
  }

  #take(): T | typeof NOTHING {
    while (this.#length > 0) {
      const mark = this.#marks[this.#head] as number
      const value = this.#values[this.#head]
      if (mark === RUN) {
        const pulled = this.#pull(value as Iterator<T>)
        if (pulled === NOTHING) continue
        this.handedOut(pulled)
        return pulled
      }
      this.#shift()
      if (mark === FAILED) throw value
      if (mark >= 0) this.#uncount(mark)
      this.handedOut(value as T)
      return value as T
    }
    return NOTHING
  }

  #shift(): void {
    this.#values[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#values.length - 1)
    if (--this.#length === 0 && this.#values.length > KEPT_CAPACITY) {
      this.#values = this.#marks = NO_SLOTS
      this.#head = 0
    }
  }

  #uncount(bytes: number): void {
    this.#size--
    // Set, not subtracted, at the end: sums of fractions need not come back to 0.
    this.#bytes = this.#size === 0 ? 0 : this.#bytes - bytes
  }

  /**
   * One entry of the run at the head, or nothing once it is over. A run is user code: it may read, close or push. Reads
   * that it makes wait (they came later), and a queue that it dropped has nothing more to give.
   */
  #pull(run: Iterator<T>): T | typeof NOTHING {
    let over = true
    this.#pulling = true
    try {
      const result = run.next()
      over = result.done === true
      return over || this.#length === 0 ? NOTHING : (result.value as T)
    } finally {
      this.#pulling = false
      if (over && this.#length > 0) this.#shift()
    }
  }

  #takeBatch(): T[] {
    const batch: T[] = []
    try {
      while (batch.length < BATCH_LIMIT) {
        const value = this.#take()
        if (value === NOTHING) break
        batch.push(value)
      }
    } catch (error) {
      if (batch.length === 0) throw error
      this.#putBack(error)
    }
    return batch
  }

  /** What was read before a run failed is given first; the error waits in the run's place, which is free. */
  #putBack(error: unknown): void {
    if (this.#length === this.#values.length) this.#grow()
    this.#head = (this.#head - 1) & (this.#values.length - 1)
    this.#values[this.#head] = error
    this.#marks[this.#head] = FAILED
    this.#length++
  }

  #wait<R>(batch: boolean): Promise<IteratorResult<R, undefined>> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject, batch, behind: undefined }
      if (this.#lastWaiting === undefined) this.#waiting = waiter
      else this.#lastWaiting.behind = waiter
      this.#lastWaiting = waiter
    })
  }

  #firstWaiter(): Waiter {
    const waiter = this.#waiting as Waiter
    this.#waiting = waiter.behind
    if (waiter.behind === undefined) this.#lastWaiting = undefined
    return waiter
  }

  #hand(value: T): void {
    const waiter = this.#firstWaiter()
    this.handedOut(value)
    waiter.resolve({ value: (waiter.batch ? [value] : value) as never, done: false })
  }

  /** Answers reads that wait, as far as there is something to read. */
  #serve(): void {
    while (this.#waiting !== undefined && !this.#pulling) {
      let value: T | T[] | typeof NOTHING
      const { batch } = this.#waiting
      try {
        value = batch ? this.#takeBatch() : this.#take()
      } catch (error) {
        this.#firstWaiter().reject(error)
        continue
      }
      if (value === NOTHING || (batch && (value as T[]).length === 0)) {
        if (this.#closed) this.#release()
        return
      }
      this.#firstWaiter().resolve({ value: value as never, done: false })
    }
  }

  #release(): void {
    while (this.#waiting !== undefined) this.#firstWaiter().resolve({ value: undefined, done: true })
  }

  #drop(): void {
    const values = this.#values
    const marks = this.#marks
    this.#values = this.#marks = NO_SLOTS
    this.#head = this.#length = this.#size = this.#bytes = 0
    for (let i = 0; i < values.length; i++) {
      // A slot that was read holds undefined, whatever stands beside it.
      if (marks[i] === RUN && values[i] !== undefined) closeRun(values[i] as Iterator<unknown>)
    }
  }
}

function closeRun(run: Iterator<unknown>): void {
  try {
    run.return?.()
  } catch {
    // Nobody reads any more, so nobody is there to be told.
  }
}
