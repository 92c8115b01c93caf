/**
 * From a request to its answer: which cursor the client brought, and what the bus can give it. Knows neither a `Response`
 * nor a server.
 */

import type { BusLike, Frame, Subscription } from '../index.ts'
import type { EndReason } from '../internal/pump.ts'
import { type Cursor, parseCursor } from '../last-event-id/index.ts'
import { BusSource, type CountingSource } from './bus-source.ts'
import { type Bytes, Encoder } from './encoder.ts'
import { type CheckedStreamOptions, checkStreamOptions, retryText, type SseStreamOptions } from './options.ts'
import { abortText, SseStream, streamErrorText } from './stream.ts'

/** What of a request matters here. */
export interface StreamRequest {
  readonly method: string | undefined
  /** The `Last-Event-ID` header as it came. */
  readonly lastEventId: unknown
  /** The URL, whole or from its path on. */
  readonly url: string
}

/** How a request is answered; without a stream, by its status and headers alone. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly stream?: SseStream
}

/** What the client asked for. */
interface Asked {
  readonly cursor: Cursor | undefined
  /** A cursor that is none, fit for a log. */
  readonly invalid: string | undefined
  /** `NaN` where it is out of bounds. */
  readonly maxQueued: number | undefined
}

const MAX_QUEUED = { min: 16, max: 2048 }
// Who finds the bus full comes back after about 15 s, later than who lost a connection, and not all at once.
const LIMIT_RETRY_MS: readonly [number, number] = [13_000, 17_000]
const LIMIT_ERROR = { code: 'subscriber_limit_exceeded', error: 'too many subscribers' }

/**
 * Subscribes, if there is a stream to be had, before anything is sent. Throws `TypeError` or `RangeError` naming a bad
 * option; then nothing was subscribed.
 */
export function answer(
  bus: BusLike,
  request: StreamRequest,
  options: SseStreamOptions,
  bytes: Bytes,
): Answer {
  const checked = checkStreamOptions(options)
  const { headers, signal } = checked
  const { cursor, invalid, maxQueued } = readRequest(request, checked)
  const { maxQueuedBytes, filter, warnings } = options
  const shared = { maxQueued: maxQueued ?? options.maxQueued, maxQueuedBytes, filter, warnings }
  const from = cursor === undefined && invalid === undefined ? options.from : undefined
  const atEnd = bus.ended && !bus.closed && cursor !== undefined && isHead(cursor, bus)
  const outOfBounds = Number.isNaN(maxQueued)
  if (outOfBounds) shared.maxQueued = options.maxQueued
  if (atEnd || outOfBounds || request.method === 'HEAD' || signal?.aborted || from !== options.from) {
    // Options that this request has no use for are checked all the same, by their one judge: nothing is registered.
    void bus.subscribe({ ...shared, from: options.from, signal: AbortSignal.abort() })
  }
  if (outOfBounds) return refusal(400, 'error', checked)
  if (atEnd) return refusal(204, 'ended', checked)
  if (request.method === 'HEAD') return { status: 200, headers }

  const encoder = new Encoder(checked, bytes)
  const stream = (source: CountingSource, opening: string, subscription?: Subscription): Answer => {
    const parts = { bus, options: checked, encoder, source, opening, cursor, subscription }
    return { status: 200, headers, stream: new SseStream(parts) }
  }
  const retry = retryText(checked.retryMs)
  if (signal?.aborted) {
    return stream(new EndedSource('aborted'), retry + abortText(signal, encoder, bus.epoch))
  }
  // Read before: a bus may have moved on by the time that its `subscribe` returns.
  const head = bus.lastEventId
  let subscription: Subscription
  try {
    subscription = bus.subscribe({ ...shared, from, lastEventId: cursor?.id, epoch: cursor?.epoch })
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== LIMIT_ERROR.code) throw error
    if (checked.onLimit === 'frame') {
      const opening = retryText(LIMIT_RETRY_MS) + streamErrorText(LIMIT_ERROR, encoder, bus.epoch)
      return stream(new EndedSource('limit'), opening)
    }
    headers.set('retry-after', '15')
    return refusal(503, 'limit', checked)
  }

  const replaying = cursor !== undefined || from !== undefined
  const source = new BusSource(bus, subscription, encoder, shared, replaying, checked.heartbeat, head)
  let opening = retry
  if (invalid !== undefined) {
    subscription.report({ type: 'invalid_last_event_id', value: invalid })
    if (!bus.closed) opening += encoder.controlText(invalidCursor(bus), bus.epoch)
  }
  if (cursor === undefined && !bus.closed) opening += source.prime()
  return stream(source, opening, subscription)
}

function readRequest({ lastEventId, url }: StreamRequest, options: CheckedStreamOptions): Asked {
  const query = new URLSearchParams(url.split('?')[1])
  let invalid: string | undefined
  const cursor = parseCursor(lastEventId || query.get(options.lastEventIdParam), (value) => {
    invalid = value
  })
  const asked = options.maxQueuedParam === undefined ? null : query.get(options.maxQueuedParam)
  if (asked === null) return { cursor, invalid, maxQueued: undefined }
  const n = /^\d+$/.test(asked) ? Number(asked) : Number.NaN
  return { cursor, invalid, maxQueued: n >= MAX_QUEUED.min && n <= MAX_QUEUED.max ? n : Number.NaN }
}

function isHead({ id, epoch }: Cursor, bus: BusLike): boolean {
  return id === bus.lastEventId && (epoch === undefined || epoch === bus.epoch)
}

function invalidCursor({ earliestAvailableId, epoch }: BusLike): Frame {
  const data = { reason: 'invalid_cursor', earliestAvailableId, epoch } as const
  return { v: 1, type: 'state_resync_required', data }
}

function refusal(status: number, reason: EndReason, { headers, onClose }: CheckedStreamOptions): Answer {
  try {
    onClose?.({ reason, frames: 0, bytes: 0, lastId: undefined })
  } catch {
    // No subscription, so nobody to report it to.
  }
  headers.delete('content-type')
  return { status, headers }
}

/** A stream that is over with its opening. */
class EndedSource implements CountingSource {
  readonly frames = 1
  readonly lastId = undefined
  readonly ended: EndReason

  constructor(reason: EndReason) {
    this.ended = reason
  }

  take(): undefined {}
  wait(): void {}
  beat(): undefined {}
  close(): void {}
}
