/**
 * One stream between its subscription and its end, whatever serves it: the opening, the hooks that may end it early, and
 * the accounts that `onClose` gets.
 */

import type { BusLike, Frame, Subscription } from '../index.ts'
import { type EndReason, Pump, type Sink } from '../internal/pump.ts'
import type { Cursor } from '../last-event-id/index.ts'
import type { CountingSource } from './bus-source.ts'
import type { Encoder } from './encoder.ts'
import type { CheckedStreamOptions } from './options.ts'

// How often an idle stream without heartbeats is looked at for a cursor that has run ahead.
const CURSOR_MS = 8000

export interface StreamParts {
  readonly bus: BusLike
  readonly options: CheckedStreamOptions
  readonly encoder: Encoder
  readonly source: CountingSource
  /** What is written before anything else. */
  readonly opening: string
  /** The client's, if it brought a valid one. */
  readonly cursor: Cursor | undefined
  readonly subscription: Subscription | undefined
}

export class SseStream {
  readonly pump: Pump
  readonly #parts: StreamParts
  #stopListening: (() => void) | undefined

  constructor(parts: StreamParts) {
    const { heartbeatMs, stallTimeoutMs } = parts.options
    this.#parts = parts
    const beatMs = heartbeatMs > 0 && heartbeatMs < Infinity ? heartbeatMs : CURSOR_MS
    this.pump = new Pump(parts.source, { beatMs, stallTimeoutMs }, (reason) => this.#settled(reason))
  }

  /** Writes the opening and begins. */
  start(sink: Sink): void {
    const { encoder, opening, cursor, options, subscription } = this.#parts
    const { signal, closeTimeoutMs } = options
    const onAbort = () => this.#abort()
    const forget = subscription?.onBusClose(() => this.pump.destroyIn(closeTimeoutMs, 'closed'))
    signal?.addEventListener('abort', onAbort)
    this.#stopListening = () => {
      signal?.removeEventListener('abort', onAbort)
      forget?.()
    }
    this.pump.start(sink, encoder.encode(opening).bytes)
    if (subscription !== undefined) this.#call(options.onOpen, { cursor, resumed: cursor !== undefined })
  }

  #abort(): void {
    const { bus, options, encoder } = this.#parts
    const text = abortText(options.signal as AbortSignal, encoder, bus.epoch)
    this.pump.finish('aborted', text === '' ? undefined : encoder.encode(text).bytes)
  }

  #settled(reason: EndReason): void {
    this.#stopListening?.()
    const { frames, lastId } = this.#parts.source
    this.#call(this.#parts.options.onClose, { reason, frames, bytes: this.pump.bytes, lastId })
  }

  /** The user's callbacks: after the head nothing throws. */
  #call<T>(callback: ((value: T) => void) | undefined, value: T): void {
    try {
      callback?.(value)
    } catch (error) {
      this.#parts.subscription?.report({ type: 'callback_error', error })
    }
  }
}

/** The `stream_error` that an abort reason `{ code, error }` asks for, or nothing. */
export function abortText(signal: AbortSignal, encoder: Encoder, epoch: string): string {
  const { code, error } = (signal.reason ?? {}) as { code?: unknown; error?: unknown }
  if (typeof code !== 'string' || typeof error !== 'string') return ''
  return streamErrorText({ code, error }, encoder, epoch)
}

export function streamErrorText(
  data: { readonly code: string; readonly error: string },
  encoder: Encoder,
  epoch: string,
): string {
  const frame: Frame = { v: 1, type: 'stream_error', data }
  return encoder.controlText(frame, epoch)
}
