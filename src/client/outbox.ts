/** Between what was read and who waits for it: values are handed out in order, to whoever asked first. */

type Result<T> = IteratorResult<T, undefined>

/** The last id of a stream, as its server wrote it. */
export type RawCursor = string | undefined

export interface Outbox<T> {
  /** The cursor behind what was put in so far, and behind the value that is put in next. */
  cursor: RawCursor
  /** The cursor behind what was handed out: to be put in is not to be read. */
  shown(): RawCursor
  put(value: T): void
  next(): Promise<Result<T>>
  /** Resolves once everything was handed out and somebody waits for more, or at the end. */
  demand(): Promise<void>
  /** Serves those who wait. */
  handOut(): void
  /** Nothing more comes; what is in may be read, then the error. */
  end(error?: unknown): void
  /** The same, and what is in is dropped, the error too. */
  drop(): void
}

export function createOutbox<T>(cursor: RawCursor): Outbox<T> {
  /** A cursor, then each value with the cursor behind it: two lists would grow twice. */
  let ready: (T | RawCursor)[] = [cursor]
  /** Where the cursor behind the last value stands that was handed out. */
  let taken = 0
  const left = () => (ready.length - taken) >> 1
  const waiting: ((result: Result<T> | Promise<Result<T>>) => void)[] = []
  let over = false
  let failed: unknown
  let wanted: (() => void) | undefined

  const box: Outbox<T> = {
    cursor,
    shown: () => (left() > 0 ? (ready[taken] as RawCursor) : box.cursor),
    put(value) {
      ready.push(value, box.cursor)
    },
    // Not `async`: that costs a tenth of what it takes to read an event.
    next() {
      if (left() > 0) {
        taken += 2
        return Promise.resolve({ done: false, value: ready[taken - 1] as T })
      }
      if (!over) {
        return new Promise((resolve) => {
          waiting.push(resolve)
          wanted?.()
        })
      }
      const error = failed
      failed = undefined
      return error ? Promise.reject(error) : Promise.resolve({ done: true, value: undefined })
    },
    async demand() {
      if (waiting.length === 0 && !over) {
        await new Promise<void>((resolve) => {
          wanted = resolve
        })
      }
      if (over) return
      ready = [box.cursor]
      taken = 0
    },
    handOut() {
      // All at once: whoever is served may ask again, and is then not waiting.
      const served = waiting.splice(0, over ? Infinity : left())
      for (const resolve of served) resolve(box.next())
    },
    end(error) {
      over = true
      failed = error
      box.handOut()
      wanted?.()
    },
    drop() {
      box.cursor = box.shown()
      ready = []
      box.end()
    },
  }
  return box
}
