/**
 * A bounded FIFO between code that must never wait and a reader that may.
 *
 * What is kept: everything accepted, until it is read or dropped by `close({ drain: false })` or `return()`. Who misses
 * what: nobody; a value that does not fit is refused at `push`, and the caller decides. A reader that waits is handed the
 * value at once, so what it takes is never part of the backlog. Overlapping reads are answered first come, first served.
 */

import { check, drains, option, wrongType } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'
import { closeRun, Forced, failing, type Result, type Waiter } from './queue-parts.ts'

export interface BoundedAsyncQueueOptions {
  /** Live entries at the most; an integer ≥ 1, or `Infinity`. */
  maxSize: number
  /** Sum of the live entries' bytes at the most, default none. One larger entry still fits an empty queue. */
  maxBytes?: number | undefined
}

const NOTHING = Symbol()
const BATCH_LIMIT = 256
// Slots that were read are cut off when they are this many more than what is left.
const SPARE_SLOTS = 64

export class BoundedAsyncQueue<T> implements AsyncIterableIterator<T> {
  protected readonly maxSize: number
  protected readonly maxBytes: number
  // A plain array, given away whole as a batch: a ring was slower, and an object per entry much slower.
  #slots: unknown[] = []
  /** The bytes of each slot, where any has some. */
  #weights: number[] | undefined
  #head = 0
  #size = 0
  #bytes = 0
  #closed = false
  #pulling = false
  #firstWaiter: Waiter | undefined
  #lastWaiter: Waiter | undefined

  /** Throws `TypeError` or `RangeError` naming the option. */
  constructor(options: BoundedAsyncQueueOptions) {
    this.maxSize = check('maxSize', check('options', options, 'object').maxSize, 'number')
    this.maxBytes = option(options, 'maxBytes', 'number', Infinity)
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
    const full = this.#size >= this.maxSize || (this.#size > 0 && this.#bytes + weight > this.maxBytes)
    if (full || this.#closed) return false
    if (this.#firstWaiter !== undefined && !this.#pulling) {
      this.#hand(this.#firstWaiter, value)
      return true
    }
    this.#size++
    this.#slots.push(value)
    if (weight > 0 || this.#weights !== undefined) this.#weigh(weight)
    return true
  }

  /** Appends an entry that never counts, wherever it stands. Nothing happens on a closed queue. */
  forcePush(value: T): void {
    this.#force(new Forced(value))
  }

  /**
   * Appends a run of entries that never count, pulled one by one as the reader gets there. A run that throws is over, and
   * the read that met it rejects with its error; the entries behind it follow. A run that is dropped is closed by its
   * `return`. Throws `TypeError` when `values` cannot be iterated. Nothing happens on a closed queue.
   */
  forcePushAll(values: Iterable<T>): void {
    if (typeof values?.[Symbol.iterator] !== 'function') throw wrongType('values', 'iterable', values)
    this.#force(new Forced(undefined, values[Symbol.iterator]()))
  }

  /** Takes no more. What is queued stays readable, or, with `drain: false`, is dropped. Reads that wait end as done. */
  close(options: { drain?: boolean | undefined } = {}): void {
    const drain = drains(options)
    this.#closed = true
    if (!drain) this.#drop()
    this.#serve()
  }

  /** The next entry without waiting, or undefined. Throws what a run throws. */
  tryNext(): T | undefined {
    const value = this.#busy ? NOTHING : this.#take()
    return value === NOTHING ? undefined : value
  }

  next(): Promise<Result<T>> {
    return this.#read(false) as Promise<Result<T>>
  }

  /** All that is ready, at most 256 entries; waits for the first one where nothing is. */
  nextBatch(): Promise<Result<T[]>> {
    return this.#read(true) as Promise<Result<T[]>>
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

  /** Called with what was handed out last, at that moment; for subclasses. */
  protected handedOut(_last: T): void {}

  /** Whether what a closed queue still holds is not to be read any more; for subclasses. */
  protected abandoned(): boolean {
    return false
  }

  /** The live entry that is to be read next, for subclasses. */
  protected firstLive(): T | undefined {
    for (let at = this.#head; at < this.#slots.length; at++) {
      const entry = this.#slots[at]
      if (!(entry instanceof Forced)) return entry as T
    }
    return undefined
  }

  /** True where a read must wait its turn: behind others, or behind the run whose code made it. */
  get #busy(): boolean {
    return this.#pulling || this.#firstWaiter !== undefined
  }

  /** Bytes are kept only from the first entry on that has some. */
  #weigh(bytes: number): void {
    this.#weights ??= new Array(this.#slots.length - 1).fill(0)
    this.#weights.push(bytes)
    this.#bytes += bytes
  }

  #force(entry: Forced): void {
    if (this.#closed) return
    this.#slots.push(entry)
    this.#weights?.push(0)
    this.#serve()
  }

  #hand(waiter: Waiter, value: T): void {
    this.#firstWaiter = waiter.next
    this.handedOut(value)
    waiter.resolve({ value: (waiter.batch ? [value] : value) as never, done: false })
  }

  #read(batch: boolean): Promise<Result<unknown>> {
    if (!this.#busy) {
      try {
        const value = batch ? this.#takeBatch() : this.#take()
        if (value !== NOTHING) return Promise.resolve({ value, done: false })
      } catch (error) {
        return Promise.reject(error)
      }
      if (this.#closed) return Promise.resolve({ value: undefined, done: true })
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { batch, resolve, reject, next: undefined }
      if (this.#firstWaiter === undefined) this.#firstWaiter = waiter
      else (this.#lastWaiter as Waiter).next = waiter
      this.#lastWaiter = waiter
    })
  }

  /** Answers the reads that wait, as far as there is something to read. */
  #serve(): void {
    for (let waiter = this.#firstWaiter; waiter !== undefined; waiter = this.#firstWaiter) {
      if (this.#pulling) return
      try {
        const value = waiter.batch ? this.#takeBatch() : this.#take()
        if (value === NOTHING && !this.#closed) return
        waiter.resolve(
          (value === NOTHING ? { value: undefined, done: true } : { value, done: false }) as never,
        )
      } catch (error) {
        waiter.reject(error)
      }
      this.#firstWaiter = waiter.next
    }
  }

  #take(): T | typeof NOTHING {
    if (this.#closed && this.#head < this.#slots.length && this.abandoned()) this.close({ drain: false })
    while (this.#head < this.#slots.length) {
      const entry = this.#slots[this.#head]
      let value: unknown = entry
      if (this.#slots.length - this.#head === this.#size || !(entry instanceof Forced)) {
        this.#size--
        this.#shift()
      } else if (entry.run !== undefined) value = this.#pull(entry.run)
      else {
        value = entry.value
        this.#shift()
      }
      if (value !== NOTHING) {
        this.handedOut(value as T)
        return value as T
      }
    }
    return NOTHING
  }

  #takeBatch(): T[] | typeof NOTHING {
    const slots = this.#slots as T[]
    if (this.#head === 0 && this.#size === slots.length && slots.length <= BATCH_LIMIT && !this.#closed) {
      if (slots.length === 0) return NOTHING
      this.#empty()
      this.handedOut(slots[slots.length - 1] as T)
      return slots
    }
    const batch: T[] = []
    try {
      while (batch.length < BATCH_LIMIT) {
        const value = this.#take()
        if (value === NOTHING) break
        batch.push(value)
      }
    } catch (error) {
      if (batch.length === 0) throw error
      // What was read before a run failed is given first; its error is the next read's.
      this.#slots.splice(this.#head, 0, new Forced(undefined, failing(error)))
      this.#weights?.splice(this.#head, 0, 0)
    }
    return batch.length === 0 ? NOTHING : batch
  }

  /** Lets go of the slot at the head. */
  #shift(): void {
    const slots = this.#slots
    if (this.#weights !== undefined) this.#bytes -= this.#weights[this.#head] as number
    slots[this.#head++] = undefined
    if (this.#head === slots.length) this.#empty()
    else if (this.#head * 2 >= slots.length + SPARE_SLOTS) {
      this.#slots = slots.slice(this.#head)
      this.#weights = this.#weights?.slice(this.#head)
      this.#head = 0
    }
  }

  /** Counters are set here, not subtracted: sums of fractions need not come back to 0. */
  #empty(): void {
    this.#slots = []
    this.#weights = undefined
    this.#head = this.#size = this.#bytes = 0
  }

  /**
   * One entry of the run at the head, or nothing once it is over. A run is user code: it may read, push or close. Reads
   * that it makes wait, since they came later, and from a queue that it dropped nothing more comes.
   */
  #pull(run: Iterator<unknown>): unknown {
    let over: boolean | undefined = true
    this.#pulling = true
    try {
      const result = run.next()
      over = result.done
      return over || this.#slots.length === 0 ? NOTHING : result.value
    } finally {
      this.#pulling = false
      if (over && this.#slots.length > 0) this.#shift()
      if (this.#firstWaiter !== undefined) queueMicrotask(() => this.#serve())
    }
  }

  #drop(): void {
    const dropped = this.#slots
    this.#empty()
    for (const entry of dropped) {
      if (entry instanceof Forced) closeRun(entry.run)
    }
  }
}
