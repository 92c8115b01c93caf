/**
 * One subscription as a stream, from its opening to its end, whatever serves it: frames leave in whole, up to 64 KiB at a
 * time, and what is not taken stays counted in the subscription's backlog.
 *
 * A subscriber whose replay is outrun by live traffic is not sent away: the subscription that was evicted is read to its
 * end, and a new one goes on from its position. So every reconnect makes progress, however fast the bus is.
 */

import type { BusEvent, BusLike, Frame, StateResyncRequired, SubscribeOptions } from '../index.ts'
import { createPump, type EndReason, type Pump } from '../internal/pump.ts'
import { soon } from '../internal/soon.ts'
import { after } from '../internal/timer.ts'
import type { Cursor } from '../last-event-id/index.ts'
import { type Bytes, type Encoded, encoderOf, resyncFrame } from './encoder.ts'
import { joined } from './join.ts'
import { type CheckedOptions, HEARTBEAT, type SseStreamOptions } from './options.ts'

const CHUNK_BYTES = 65_536

// How often an idle stream without heartbeats is looked at for a cursor that has run ahead.
const CURSOR_MS = 8000

/** Why a bus at its limit ends a stream before it begins. */
export const LIMIT = { code: 'subscriber_limit_exceeded', error: 'too many subscribers' }

/** What a client brought with its request. */
export interface Brought {
  readonly cursor: Cursor | undefined
  /** What it brought instead of a cursor, fit for a log. */
  readonly invalid: string | undefined
}

/**
 * Subscribes as `plan` says. A signal that has been aborted makes a stream that says why and ends. Throws what
 * `subscribe` throws.
 */
export function streamOf(
  bus: BusLike,
  plan: SubscribeOptions,
  { cursor, invalid }: Brought,
  options: SseStreamOptions,
  { heartbeatMs, stallTimeoutMs, retry }: CheckedOptions,
  bytes: Bytes,
): Pump {
  const { signal, heartbeatEvent, closeTimeoutMs = 500, onOpen, onClose } = options
  let subscription = bus.subscribe(plan)
  const refused = signal?.aborted
  const encoder = encoderOf(options, bytes.encode, (diagnostic) => subscription.report(diagnostic))

  let frames = 0
  const start = subscription.lastDeliveredId
  /** The last id taken, in an event or a cursor block: the cursor that the client has once it read that. */
  let lastId: number | undefined
  /** What it was before any frame. */
  let primed: number | undefined
  /** The frame that was waited for; null once there will be none. */
  let arrived: Frame | undefined | null
  /** The next frame, ready and not taken yet. */
  let next: Encoded | null = null

  let replaying = plan.lastEventId !== undefined || plan.from !== undefined
  let continued = false
  let replayedCount = 0
  let lastReplayedEventId: number | undefined

  const encode = (frame: Frame): Encoded | null => {
    if (frame.id === undefined) return encodeControl(frame)
    const encoded = encoder.event(frame as BusEvent, subscription)
    if (encoded && replaying) {
      replayedCount++
      lastReplayedEventId = frame.id
    }
    return encoded
  }

  const encodeControl = (frame: Frame): Encoded | null => {
    const { type } = frame
    if (replaying && subscription.evicted) {
      // Outrun: the client is not to know, unless it cannot go on.
      if (type === 'replay_complete' || type === 'slow_client_warning') return null
      if (type === 'client_evicted' && goOn()) return null
    }
    const completes = type === 'replay_complete'
    // One replay to the client, that of the subscriptions before included.
    const whole = completes && continued ? { ...frame, data: { replayedCount, lastReplayedEventId } } : frame
    let text = encoder.control(whole as Frame)
    let at: { readonly position: number; readonly epoch: string } | undefined
    // A client that got no id with its replay gets a cursor behind it, of what was replayed: a bus on a backend may be
    // elsewhere by now than where it stood at `subscribe`.
    if (completes && lastId === primed) at = subscription
    else if (type === 'state_resync_required' && !replaying && text) {
      // Told in the middle of a stream, as a bus on a backend may: a client that reconnects is not to be told again.
      const { earliestAvailableId, epoch } = (frame as StateResyncRequired).data
      at = { position: earliestAvailableId - 1, epoch }
    }
    if (at) text += encoder.cursor(at.position, at.epoch)
    return text || completes ? { bytes: bytes.encode(text), cursor: at?.position, completes } : null
  }

  /** A new subscription in place of the one that was evicted, where nothing between them is lost. */
  const goOn = (): boolean => {
    const { position, epoch } = subscription
    const { closed, earliestAvailableId } = bus
    if (closed || position + 1 < earliestAvailableId) return false
    try {
      subscription = bus.subscribe({ ...plan, from: undefined, lastEventId: position, epoch })
    } catch {
      // The limit: somebody else has taken the place.
      return false
    }
    continued = true
    return true
  }

  /** The next frame that has something to write. */
  const ready = (): Encoded | null => {
    while (!next) {
      const frame = subscription.tryNext()
      if (!frame) break
      next = encode(frame)
    }
    return next
  }

  const take = (): Uint8Array | EndReason | undefined => {
    // Most often there is one, and no list of them is made.
    let first: Uint8Array | undefined
    let chunks: Uint8Array[] | undefined
    let size = 0
    for (let one = ready(); one && (size === 0 || size + one.bytes.length <= CHUNK_BYTES); one = ready()) {
      next = null
      if (one.completes) {
        // Evicted while this frame waited for its write: outrun all the same.
        if (subscription.evicted) continue
        replaying = false
      }
      if (!first) first = one.bytes
      else if (chunks) chunks.push(one.bytes)
      else chunks = [first, one.bytes]
      size += one.bytes.length
      frames++
      lastId = one.cursor ?? lastId
    }
    if (first) return chunks ? joined(bytes, chunks, size) : first
    if (refused) return signal.reason === LIMIT ? 'limit' : 'aborted'
    // Not said by `closed`: what it still holds may have to come from elsewhere.
    if (arrived === null) return subscription.evicted ? 'evicted' : bus.closed ? 'closed' : 'ended'
    subscription.receive(handed, failed)
    return undefined
  }

  /** Within a publish, which is not to wait for formats and sockets. */
  const handed = ({ value }: IteratorResult<Frame, undefined>) => {
    arrived = value ?? null
    soon(wake)
  }

  const wake = () => {
    if (arrived) {
      next = encode(arrived)
      arrived = undefined
    }
    pump.wake()
  }

  const failed = () => pump.finish('error')

  const beat = (): Uint8Array => {
    const { position, epoch } = subscription
    let text = heartbeatMs === 0 ? '' : heartbeatEvent ? `event: ${heartbeatEvent}\ndata: {}\n\n` : HEARTBEAT
    if (position > (lastId ?? start)) {
      lastId = position
      text += encoder.cursor(position, epoch)
    }
    return bytes.encode(text)
  }

  const close = () => {
    void subscription.return()
    next = null
  }

  /** The user's callbacks: after the head nothing throws. */
  const call = <T>(callback: ((value: T) => void) | undefined, value: T) => {
    try {
      callback?.(value)
    } catch (error) {
      subscription.report({ type: 'callback_error', error })
    }
  }

  const written = (frame: Frame): string => {
    const text = encoder.control(frame)
    if (text) frames++
    return text
  }

  /** The `stream_error` that a reason `{ code, error }` asks for, or nothing. */
  const errorText = (reason: unknown): string => {
    const { code, error } = (reason ?? {}) as { code?: unknown; error?: unknown }
    const says = typeof code === 'string' && typeof error === 'string'
    return says ? written({ v: 1, type: 'stream_error', data: { error, code } }) : ''
  }

  const onAbort = () => pump.finish('aborted', bytes.encode(errorText(signal?.reason)))

  let cancelCut: (() => void) | undefined
  const cut = () => pump.destroy('closed')
  const onBusClose = () => {
    if (closeTimeoutMs === 0) cut()
    else cancelCut ??= after(closeTimeoutMs, cut)
  }
  const forget = subscription.onBusClose(onBusClose)
  signal?.addEventListener('abort', onAbort)

  const opening = (): Uint8Array => bytes.encode(retry + (refused ? errorText(signal.reason) : greeting()))

  /** What a client without a cursor is told first, so that its first reconnect resumes. */
  const greeting = (): string => {
    if (invalid !== undefined) subscription.report({ type: 'invalid_last_event_id', value: invalid })
    if (cursor || bus.closed) return ''
    const { earliestAvailableId, epoch } = bus
    const resync = resyncFrame('invalid_cursor', { earliestAvailableId, epoch })
    lastId = primed = start
    return (invalid === undefined ? '' : written(resync)) + encoder.cursor(start, subscription.epoch)
  }

  const opened = () => {
    if (!refused) call(onOpen, { cursor, resumed: !!cursor })
  }

  const settled = (reason: EndReason) => {
    forget()
    cancelCut?.()
    signal?.removeEventListener('abort', onAbort)
    call(onClose, { reason, frames, bytes: pump.bytes, lastId })
  }

  const source = { opening, opened, take, beat, close, settled }
  const pump = createPump(source, heartbeatMs || CURSOR_MS, stallTimeoutMs)
  return pump
}
