/**
 * A bounded FIFO between code that must never wait and a reader that may: what does not fit is refused, and the caller
 * decides. A read that waits is handed its value at once, past the backlog; of several, the first come is the first served.
 */

import { check, drains, option, wrongType } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'
import type { BoundedAsyncQueueOptions, Result, Waiter } from './queue-parts.ts'
import { BATCH_LIMIT, closeRuns, Entry, failing, NOTHING, SPARE_SLOTS, WAITING } from './queue-parts.ts'

export class BoundedAsyncQueue<T> implements AsyncIterableIterator<T> {
  protected readonly maxSize: number
  protected readonly maxBytes: number
  // A plain array, given away whole as a batch: a ring was slower, and an object per entry much slower.
  #slots: unknown[] = []
  #head = 0
  #size = 0
  #bytes = 0
  /** How many of the slots hold an `Entry`, and not a bare value. */
  #entries = 0
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
    this.append(value, weight)
    return true
  }

  /** Appends an entry that never counts, wherever it stands. Nothing happens on a closed queue. */
  forcePush(value: T): void {
    this.#force(new Entry(value))
  }

  /**
   * Appends a run of entries that never count, pulled one by one as the reader gets there. One that throws is over, and its
   * error is the read's that met it; what is behind follows. One that is dropped is closed by its `return`. Throws
   * `TypeError` when `values` cannot be iterated. Nothing happens on a closed queue.
   */
  forcePushAll(values: Iterable<T>): void {
    if (typeof values?.[Symbol.iterator] !== 'function') throw wrongType('values', 'iterable', values)
    this.#force(new Entry(undefined, 0, values[Symbol.iterator]()))
  }

  /** Takes no more. What is queued stays readable, or, with `drain: false`, is dropped. Reads that wait end as done. */
  close(options: { drain?: boolean | undefined } = {}): void {
    const drain = drains(options)
    this.#closed = true
    if (!drain) closeRuns(this.#empty())
    this.#serve()
  }

  /** The next entry without waiting, or undefined. Throws what a run throws. */
  tryNext(): T | undefined {
    if (this.#bare) return this.#first()
    const value = this.#busy ? NOTHING : this.#take()
    return value === NOTHING ? undefined : value
  }

  next(): Promise<Result<T>> {
    if (this.#bare) return Promise.resolve({ value: this.#first(), done: false })
    try {
      const value = this.#busy ? NOTHING : this.#take()
      if (value !== NOTHING) return Promise.resolve({ value, done: false })
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#wait(false) as Promise<Result<T>>
  }

  /** All that is ready, at most 256 entries; waits for the first one where nothing is. */
  nextBatch(): Promise<Result<T[]>> {
    if (this.#bare) return Promise.resolve({ value: this.#takeBatch() as T[], done: false })
    return this.#wait(true) as Promise<Result<T[]>>
  }

  /** Like `next()` without a promise: calls back within the push that brings the value, or at once where one is ready. */
  receive(resolve: (result: Result<T>) => void, reject: (error: unknown) => void): void {
    this.#join(false, resolve, reject)
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
      if (!(entry instanceof Entry)) return entry as T
      if (entry.bytes > 0) return entry.value as T
    }
    return undefined
  }

  /** Goes on with the run that was `WAITING`, for subclasses. */
  protected wake(): void {
    this.#pulling = false
    this.#serve()
  }

  /** A live entry that fits, for subclasses: a read that waits gets it at once. */
  protected append(value: T, bytes: number): void {
    const waiter = this.#firstWaiter
    if (waiter !== undefined && !this.#pulling) {
      this.#firstWaiter = waiter.next
      this.handedOut(value)
      waiter.resolve({ value: (waiter.batch ? [value] : value) as never, done: false })
      return
    }
    this.#size++
    if (bytes > 0) {
      this.#bytes += bytes
      this.#place(new Entry(value, bytes))
    } else this.#slots.push(value)
  }

  #place(entry: Entry): void {
    this.#entries++
    this.#slots.push(entry)
  }

  #force(entry: Entry): void {
    if (!this.#closed) this.#place(entry)
    this.#serve()
  }

  /** True where a read must wait its turn: behind others, or behind the run whose code made it. */
  get #busy(): boolean {
    return this.#pulling || !!this.#firstWaiter
  }

  /** It holds values, bare ones only, and nobody waits: the usual case, worth a tenth of a delivery. */
  get #bare(): boolean {
    return this.#size > 0 && this.#entries === 0 && !this.#firstWaiter && !this.#closed
  }

  #first(): T {
    const value = this.#slots[this.#head] as T
    this.#shift(1)
    this.handedOut(value)
    return value
  }

  #wait(batch: boolean): Promise<Result<unknown>> {
    return new Promise((resolve, reject) => this.#join(batch, resolve, reject))
  }

  #join(batch: boolean, resolve: Waiter['resolve'], reject: Waiter['reject']): void {
    const waiter: Waiter = { batch, resolve, reject, next: undefined }
    if (!this.#firstWaiter) this.#firstWaiter = waiter
    else (this.#lastWaiter as Waiter).next = waiter
    this.#lastWaiter = waiter
    this.#serve()
  }

  /** Answers the reads that wait, as far as there is something to read. */
  #serve(): void {
    for (let waiter = this.#firstWaiter; waiter && !this.#pulling; waiter = this.#firstWaiter) {
      try {
        const value = (waiter.batch ? this.#takeBatch() : this.#take()) as never
        if (value === NOTHING && (!this.#closed || this.#pulling)) return
        this.#firstWaiter = waiter.next // Gone before it is called back, which may lead here again.
        waiter.resolve(value === NOTHING ? { value: undefined, done: true } : { value, done: false })
      } catch (error) {
        this.#firstWaiter = waiter.next
        waiter.reject(error)
      }
    }
  }

  #take(): T | typeof NOTHING {
    if (this.#closed && this.#head < this.#slots.length && this.abandoned()) this.close({ drain: false })
    while (this.#head < this.#slots.length && !this.#pulling) {
      const entry = this.#slots[this.#head]
      let value: unknown = entry
      if (!(entry instanceof Entry)) this.#shift(1)
      else if (entry.run) value = this.#pull(entry.run)
      else {
        value = entry.value
        this.#shift(entry.bytes > 0 ? 1 : 0, 1, entry.bytes)
      }
      if (value !== NOTHING) {
        this.handedOut(value as T)
        return value as T
      }
    }
    return NOTHING
  }

  #takeBatch(): T[] | typeof NOTHING {
    if (this.#bare && this.#head === 0 && this.#size <= BATCH_LIMIT) {
      this.handedOut(this.#slots[this.#size - 1] as T)
      return this.#empty() as T[]
    }
    const batch: T[] = []
    try {
      for (let value = this.#take(); value !== NOTHING; value = this.#take()) {
        batch.push(value)
        if (batch.length === BATCH_LIMIT) break
      }
    } catch (error) {
      if (batch.length === 0) throw error
      // What was read before a run failed is given first; its error is the next read's.
      this.#slots.splice(this.#head, 0, new Entry(undefined, 0, failing(error)))
      this.#entries++
    }
    return batch.length > 0 ? batch : NOTHING
  }

  /** Lets go of the slot at the head, and of what it counted. */
  #shift(live: number, entries = 0, bytes = 0): void {
    const slots = this.#slots
    this.#size -= live
    this.#entries -= entries
    // Set at the end, and not subtracted: sums of fractions need not come back to 0.
    this.#bytes = this.#size === 0 ? 0 : this.#bytes - bytes
    slots[this.#head++] = undefined
    if (this.#head === slots.length) this.#empty()
    else if (this.#head * 2 >= slots.length + SPARE_SLOTS) {
      slots.splice(0, this.#head)
      this.#head = 0
    }
  }

  /** Gives away what stands here, read or not. */
  #empty(): unknown[] {
    const given = this.#slots
    this.#slots = []
    this.#head = this.#size = this.#bytes = this.#entries = 0
    return given
  }

  /**
   * One entry of the run at the head, or nothing once it is over, or as long as it is `WAITING`. A run is user code: it
   * may read, push or close. Reads that it makes wait, since they came later; a queue that it dropped gives no more.
   */
  #pull(run: Iterator<unknown>): unknown {
    let over: boolean | undefined = true
    let given: unknown = NOTHING
    this.#pulling = true
    try {
      const { done, value } = run.next()
      over = done
      if (!over) given = value
    } finally {
      this.#pulling = given === WAITING
      if (over && this.#slots.length > 0) this.#shift(0, 1)
      // Bound, since a closure's context would be made at each call: 3 ns of a replayed event's 60.
      if (this.#firstWaiter) queueMicrotask(this.#serve.bind(this))
    }
    return this.#pulling || this.#slots.length === 0 ? NOTHING : given
  }
}
