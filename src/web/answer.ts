/**
 * From a request to its answer: which cursor the client brought, and what the bus can give it. Knows neither a `Response`
 * nor a server.
 */

import type { BusLike } from '../index.ts'
import type { EndReason, Pump } from '../internal/pump.ts'
import { parseCursor } from '../last-event-id/index.ts'
import type { Bytes } from './encoder.ts'
import { checkOptions, type SseStreamOptions } from './options.ts'
import { LIMIT, streamOf } from './stream.ts'

/** How a request is answered; without a stream, by its status and headers alone. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly stream?: Pump
}

/**
 * Subscribes, if there is a stream to be had, before anything is sent. `lastEventId` is the header as it came. Throws
 * `TypeError` or `RangeError` naming a bad option; then nothing was subscribed.
 */
export function answer(
  bus: BusLike,
  request: { readonly method?: string | undefined; readonly url?: string | undefined },
  lastEventId: unknown,
  options: SseStreamOptions,
  bytes: Bytes,
): Answer {
  const checked = checkOptions(options)
  const { headers } = checked
  const { lastEventIdParam = 'lastEventId', maxQueuedParam, signal, from, onClose } = options
  const query = new URLSearchParams(request.url?.replace(/#.*/s, '').replace(/^[^?]*/, ''))
  let invalid: string | undefined
  const cursor = parseCursor(lastEventId || query.get(lastEventIdParam), (value) => {
    invalid = value
  })
  const asked = maxQueuedParam === undefined ? null : query.get(maxQueuedParam)
  const outOfBounds = asked !== null && !(/^\d+$/.test(asked) && +asked >= 16 && +asked <= 2048)
  const atEnd =
    bus.ended && !bus.closed && cursor?.id === bus.lastEventId && (cursor.epoch ?? bus.epoch) === bus.epoch
  const isHead = request.method === 'HEAD'
  const resumes = !!cursor || invalid !== undefined

  const { maxQueuedBytes, filter, warnings } = options
  const maxQueued = asked === null || outOfBounds ? options.maxQueued : +asked
  const plan = { maxQueued, maxQueuedBytes, filter, warnings, from, signal }
  if (outOfBounds || atEnd || isHead || (resumes && from !== undefined)) {
    // Options that this request has no use for are checked all the same, by their one judge: nothing is registered.
    void bus.subscribe({ ...plan, signal: AbortSignal.abort() })
  }

  const refusal = (status: number, reason: EndReason): Answer => {
    try {
      onClose?.({ reason, frames: 0, bytes: 0, lastId: undefined })
    } catch {
      // No subscription, so nobody to report it to.
    }
    headers.delete('content-type')
    return { status, headers }
  }
  if (outOfBounds) return refusal(400, 'error')
  if (atEnd) return refusal(204, 'ended')
  if (isHead) return { status: 200, headers }
  const resume = resumes && { from: undefined, lastEventId: cursor?.id, epoch: cursor?.epoch }
  try {
    const stream = streamOf(bus, { ...plan, ...resume }, { cursor, invalid }, options, checked, bytes)
    return { status: 200, headers, stream }
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== LIMIT.code) throw error
    if (options.onLimit === 'status') {
      headers.set('retry-after', '15')
      return refusal(503, 'limit')
    }
    // Comes back after about 15 s, later than who lost a connection, and not all at once.
    const limited = { signal: AbortSignal.abort(LIMIT), retryMs: [13_000, 17_000] } as const
    return answer(bus, request, lastEventId, { ...options, ...limited }, bytes)
  }
}
