/**
 * A stream that goes on over as many connections as it takes.
 *
 * One loop connects, reads and waits; whatever it waits for can be cut short by `cut`. It reads a chunk only while a
 * `next()` waits: what a consumer does not read stays with the server, whose backpressure it is.
 */

import { asyncDispose } from '../internal/dispose.ts'
import { afterAwaited } from '../internal/timer.ts'
import { createBlockReader, type OnBlock } from './blocks.ts'
import { headOf, quietly, refusalOf } from './connection.ts'
import { SseHttpError } from './errors.ts'
import { checkOptions, type SseBlock, type SseOptions } from './options.ts'
import { prepareRequests } from './request.ts'

/** A resuming stream. Leaving it in any way ends it: no timer, listener or socket is left. */
export interface SseStream<T> extends AsyncIterableIterator<T, undefined> {
  next(): Promise<IteratorResult<T, undefined>>
  /** Ends the stream, drops what was not read and settles at once. */
  return(value?: unknown): Promise<IteratorResult<T, undefined>>
  /** Ends the stream like `return`, and rejects with `error`. */
  throw(error?: unknown): Promise<IteratorResult<T, undefined>>
  [Symbol.asyncIterator](): SseStream<T>
  [Symbol.asyncDispose](): Promise<void>
  /** Ends the stream like `return`; what waits is done. */
  close(): void
  /** 0 connecting (also while it waits to), 1 open, 2 over; what was read before may still be handed out. */
  readonly readyState: 0 | 1 | 2
  /** The last id up to what was handed out: `lastEventId` of a stream that goes on from here without a gap. */
  readonly cursor: string | undefined
}

/** What a reader of blocks does to its stream. */
export interface Outlet<T> {
  /** Sent with the next request; belongs to what is emitted next. */
  cursor: string | undefined
  /** One with an id is progress. */
  emit(value: T, id?: string): void
  /** The server said why it ends: nothing more comes on this connection. */
  last(type: string, data: Ending): void
  reject(error: Error, block: SseBlock): void
}

/** What a last frame may say. */
export interface Ending {
  readonly code?: unknown
  readonly error?: unknown
}

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined> | PromiseLike<IteratorResult<T, undefined>>): void
}

/** Open for so long is progress. */
const PROGRESS_MS = 10_000

/** Whatever a callback throws or rejects with is its own affair. */
function tell(callback: () => void): void {
  quietly((async () => callback())())
}

export function createStream<T>(
  url: string | URL,
  options: SseOptions,
  createReader: (outlet: Outlet<T>) => OnBlock,
): SseStream<T> {
  const checked = checkOptions(options)
  const requests = prepareRequests(url, options)
  const { signal, maxRetryMs, onOpen, onRetry, onError } = checked
  let { retryMs } = checked
  let readyState: 0 | 1 | 2 = 0
  /** Connections lost since the last progress. */
  let failures = 0
  /** Read and not handed out yet, and the cursor behind each; that of the place before them comes first. */
  let ready: T[] = []
  let cursors: (string | undefined)[] = []
  let taken = 0
  const waiting: Waiter<T>[] = []
  /** What the next reader is rejected with. */
  let failed: unknown
  /** The server said that it ends this connection. */
  let ending: { readonly evicted: boolean; readonly error: unknown } | undefined
  let openedAt: number | undefined
  let floorMs = 0
  /** Ends what the loop waits for. */
  let cut: ((reason?: unknown) => void) | undefined
  let wanted: (() => void) | undefined

  const outlet: Outlet<T> = {
    cursor: requests.cursor,
    emit(value, id) {
      if (id) failures = 0
      cursors[ready.push(value)] = outlet.cursor
    },
    last(type, data) {
      const { code, error } = data
      const evicted = type === 'client_evicted'
      if (evicted ? checked.onEvicted === 'end' : code === 'gone' || code === 'session_taken_over') end()
      else ending = { evicted, error: Object.assign(new Error(`${type}: ${error}`), { code }) }
    },
    reject: (error, block) => tell(() => onError?.(error, block)),
  }
  const onBlock = createReader(outlet)

  /** To be handed in is not to be handed out: a cursor that is kept must not skip what was not read. */
  const shown = () => (taken < ready.length ? cursors[taken] : outlet.cursor)

  const over = () => readyState === 2

  const handOut = () => {
    for (const { resolve } of waiting.splice(0, ready.length - taken)) {
      resolve({ done: false, value: ready[taken++] as T })
    }
  }

  /** Nothing more will come; what is ready may be read. */
  const end = (error?: unknown) => {
    if (readyState === 2) return
    readyState = 2
    signal?.removeEventListener('abort', close)
    handOut()
    failed = error
    for (const { resolve } of waiting) resolve(next())
    cut?.()
    wanted?.()
  }

  const close = () => {
    outlet.cursor = shown()
    ready = []
    end()
    failed = undefined
  }

  const next = async (): Promise<IteratorResult<T, undefined>> => {
    if (taken < ready.length) return { done: false, value: ready[taken++] as T }
    if (readyState < 2) {
      return new Promise((resolve) => {
        waiting.push({ resolve })
        wanted?.()
      })
    }
    const error = failed
    failed = undefined
    if (error) throw error
    return { done: true, value: undefined }
  }

  /** One connection, from the request to its end. */
  const connect = async () => {
    ending = openedAt = undefined
    floorMs = 0
    const controller = new AbortController()
    const { signal } = controller
    cut = (reason) => controller.abort(reason)
    const limit = (name: 'connectTimeoutMs' | 'idleTimeoutMs') =>
      afterAwaited(checked[name], () => controller.abort(new Error(`nothing came within ${name}`)))
    let stopTimer = limit('connectTimeoutMs')
    try {
      const cursor = outlet.cursor
      const response = await headOf(requests.send(cursor, signal), signal)
      const body = response.body?.getReader()
      signal.addEventListener('abort', () => quietly(body?.cancel()))
      if (response.status === 204) return end()
      const address = response.url || `${url}`
      const refusal = await refusalOf(response, body, address)
      if (refusal?.final) return end(refusal.error)
      if (refusal) {
        floorMs = refusal.floorMs
        throw refusal.error
      }
      stopTimer()
      readyState = 1
      openedAt = performance.now()
      tell(() => onOpen?.({ url: address, headers: response.headers, cursor }))
      const feed = createBlockReader(
        (id, event, data) => {
          if (readyState === 1 && !ending) onBlock(id, event, data)
        },
        (ms) => {
          retryMs = ms
        },
        checked.maxBufferSize,
      )
      while (body && !ending) {
        while (waiting.length === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            wanted = resolve
          })
        }
        stopTimer = limit('idleTimeoutMs')
        const { done, value } = await body.read()
        stopTimer()
        signal.throwIfAborted()
        if (done) return
        ready = []
        taken = 0
        cursors = [outlet.cursor]
        try {
          feed(value)
        } catch (error) {
          return end(error)
        }
        handOut()
      }
    } catch (error) {
      // Bodies differ in how they fail when they are cut.
      signal.throwIfAborted()
      throw error
    } finally {
      stopTimer()
      controller.abort()
      if (readyState === 1) readyState = 0
    }
  }

  const run = async () => {
    for (;;) {
      let error: unknown
      try {
        await connect()
      } catch (reason) {
        error = reason
      }
      if (readyState === 2) return
      if (openedAt && performance.now() - openedAt >= PROGRESS_MS) failures = 0
      error ??= ending?.error
      if (failures >= checked.maxRetries) {
        return end(
          error instanceof SseHttpError
            ? error
            : new SseHttpError('maxRetries spent', openedAt ? 200 : 0, `${url}`, '', error),
        )
      }
      const base = Math.min(retryMs, maxRetryMs)
      const top = Math.min(maxRetryMs, retryMs * 1.5 * 2 ** Math.min(failures, 32))
      const delayMs =
        ending?.evicted && !failures
          ? 0
          : Math.round(Math.max(floorMs, base, (top * (2 + Math.random())) / 3))
      failures++
      tell(() => onRetry?.({ attempt: failures, delayMs, error }))
      if (over()) return
      await new Promise<void>((resolve) => {
        const stop = afterAwaited(delayMs, resolve)
        cut = () => {
          stop()
          resolve()
        }
      })
    }
  }

  if (signal?.aborted) close()
  else {
    signal?.addEventListener('abort', close)
    run()
  }

  return {
    next,
    async return(value) {
      close()
      return { done: true, value: value as undefined }
    },
    async throw(error) {
      close()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [asyncDispose]() {
      close()
    },
    close,
    get readyState() {
      return readyState
    },
    get cursor() {
      return shown()
    },
  }
}
