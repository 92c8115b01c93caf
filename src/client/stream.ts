/**
 * A stream that goes on over as many connections as it takes.
 *
 * One loop connects, reads and waits; whatever it waits for can be cut short by `cut`. It reads a chunk only while a
 * `next()` waits: what a consumer does not read stays with the server, whose backpressure it is.
 */

import { asyncDispose } from '../internal/dispose.ts'
import { after } from '../internal/timer.ts'
import { backoff } from './backoff.ts'
import { createBlockReader, type OnBlock } from './blocks.ts'
import { answerOf, refusalOf, tell } from './connection.ts'
import { SseHttpError } from './errors.ts'
import { checkOptions, type SseBlock, type SseOptions } from './options.ts'
import { createOutbox, type Outbox } from './outbox.ts'
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
export interface Outlet<T> extends Pick<Outbox<T>, 'cursor' | 'put'> {
  /** The server said why it ends: nothing more comes on this connection. */
  last(type: string, data: Ending): void
  reject(error: Error, block: SseBlock): void
}

/** What a last frame may say. */
export interface Ending {
  readonly code?: unknown
  readonly error?: unknown
  readonly reason?: unknown
}

/** Whether a frame without an id is the last one of its connection. */
export const isLast = (type: string) => type === 'client_evicted' || type === 'stream_error'

/** Open for so long is progress. */
const PROGRESS_MS = 10_000

export function createStream<T>(
  url: string | URL,
  options: SseOptions,
  createReader: (outlet: Outlet<T>) => OnBlock,
): SseStream<T> {
  const checked = checkOptions(options)
  const requests = prepareRequests(url, options)
  const { signal, maxRetryMs, maxRetries, onOpen, onRetry, onError } = checked
  const box = createOutbox<T>(requests.cursor)
  let { retryMs } = checked
  let readyState: SseStream<T>['readyState'] = 0
  /** Connections lost in a row, without progress. */
  let failures = 0
  /** Of the present connection: its response, since when it is open, and what the server said it ends for. */
  let status: number
  let address: string
  let openedAt: number
  let ending: { readonly evicted: boolean; readonly error: unknown } | undefined
  /** The earliest time for the next one. */
  let floorMs: number
  /** Ends what the loop waits for. */
  let cut: (() => void) | undefined

  const onBlock = createReader(
    Object.assign(box, {
      last(type: string, { code, error, reason }: Ending) {
        const evicted = type === 'client_evicted'
        if (evicted ? checked.onEvicted === 'end' : code === 'gone' || code === 'session_taken_over') end()
        else {
          const said = error ?? reason
          // It may be anything that JSON can say, and not all of that can be made into text.
          const message = typeof said === 'string' ? `${type}: ${said}` : type
          ending = { evicted, error: Object.assign(new Error(message), { code }) }
        }
      },
      reject: (error: Error, block: SseBlock) => tell(() => onError?.(error, block)),
    }),
  )

  const over = () => readyState === 2

  const stop = () => {
    readyState = 2
    signal?.removeEventListener('abort', close)
    cut?.()
  }

  const end = (error?: unknown) => {
    box.end(error)
    stop()
  }

  const close = () => {
    box.drop()
    stop()
  }

  /** One connection, from the request to its end. */
  const connect = async () => {
    ending = undefined
    openedAt = Infinity
    status = floorMs = 0
    address = `${url}`
    const controller = new AbortController()
    const { signal } = controller
    cut = () => controller.abort()
    const limit = (name: 'connectTimeoutMs' | 'idleTimeoutMs') =>
      after(checked[name], () => controller.abort(new Error(`nothing came within ${name}`)), 'awaited')
    let stopTimer = limit('connectTimeoutMs')
    try {
      const { cursor } = box
      const { response, body } = await answerOf(requests.send(cursor, signal), signal)
      status = response.status
      if (status === 204) return end()
      address = response.url || `${url}`
      const refusal = await refusalOf(response, body, address)
      if (over()) return
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
          if (readyState !== 1 || ending) return
          if (id && (data || event !== 'cursor')) failures = 0
          onBlock(id, event, data)
        },
        (ms) => {
          // At once, over and over, is for a caller to ask for, not for a server that fails.
          retryMs = ms || 1
        },
        checked.maxBufferSize,
      )
      while (body && !ending && !over()) {
        await box.demand()
        stopTimer = limit('idleTimeoutMs')
        const { done, value } = await body.read()
        stopTimer()
        signal.throwIfAborted()
        if (done) return
        try {
          feed(value)
        } catch (error) {
          return end(error)
        }
        box.handOut()
      }
    } catch (error) {
      // Bodies differ in how they fail when they are cut.
      if (!(error instanceof SseHttpError)) signal.throwIfAborted()
      throw error
    } finally {
      stopTimer()
      controller.abort()
      if (readyState === 1) readyState = 0
    }
  }

  const run = async () => {
    while (!over()) {
      let error: unknown
      try {
        await connect()
      } catch (reason) {
        error = reason
      }
      if (over()) return
      error ??= ending?.error
      if (performance.now() - openedAt >= PROGRESS_MS) failures = 0
      if (failures >= maxRetries) {
        return end(
          error instanceof SseHttpError
            ? error
            : new SseHttpError('maxRetries spent', status, address, '', error),
        )
      }
      const delayMs =
        ending?.evicted && !failures ? 0 : Math.max(floorMs, backoff(retryMs, maxRetryMs, failures))
      failures++
      tell(() => onRetry?.({ attempt: failures, delayMs, error }))
      if (over()) return
      await new Promise<void>((resolve) => {
        const stopTimer = after(delayMs, resolve, 'awaited')
        cut = () => {
          stopTimer()
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
    next: box.next,
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
      return box.shown()
    },
  }
}
