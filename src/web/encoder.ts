/**
 * Frames as bytes of an event stream. What was made of an event is kept with it, so that each event is encoded once per
 * format and epoch however many streams carry it.
 */

import type { BusEvent, Diagnostic, Frame, Subscription } from '../index.ts'
import type { Kept } from '../internal/kept.ts'
import { cursorBlock, frameBlock } from '../sse/block.ts'
import type { SseStreamOptions } from './options.ts'

/** One frame, ready to be written. */
export interface Encoded {
  readonly bytes: Uint8Array
  /** It closes the replay. */
  readonly completes?: boolean
  /** The cursor that a client has when it read this, where this moves it. */
  readonly cursor: number | undefined
}

/** How a runtime makes bytes. */
export interface Bytes {
  encode(text: string): Uint8Array
  join(chunks: readonly Uint8Array[], size: number): Uint8Array
}

export interface Encoder {
  /** An event of the subscription, or null where the format leaves it out. */
  event(event: BusEvent, subscription: Subscription): Encoded | null
  /** A control frame; empty where the format leaves it out, or throws. */
  control(frame: Frame): string
  /** Moves a client's cursor and shows it nothing. */
  cursor(id: number, epoch: string): string
}

/** The encodings of one event by what they depend on; null where the format leaves the event out. */
type Encodings = Record<string, Encoded | null>

/**
 * What is kept with an event: its encodings by the forms that we know, and by the user's functions. The latter weakly, so
 * that a handler that makes a new `format` for each request does not make each event collect an encoding per request.
 */
interface Wire {
  readonly own: Encodings
  custom?: WeakMap<object, Encodings>
}

/** `report` is told what a `format` throws, and which events JSON cannot carry. */
export function encoderOf(
  { cursor, data = 'envelope', event = data === 'envelope', format }: SseStreamOptions,
  encode: Bytes['encode'],
  report: (diagnostic: Diagnostic) => void,
): Encoder {
  let namedFor: string | undefined
  let name = ''

  const epochIn = (epoch: string) => (cursor === 'id' ? undefined : epoch)

  const textOf = (frame: Frame, kept: Kept, epoch?: string) =>
    format ? format(frame) : frameBlock(frame, kept, { epoch, data, event })

  const encodingsOf = (kept: Kept): Encodings => {
    kept.wire ??= { own: {} }
    const wire = kept.wire as Wire
    if (!format) return wire.own
    wire.custom ??= new WeakMap()
    const encodings = wire.custom.get(format) ?? {}
    wire.custom.set(format, encodings)
    return encodings
  }

  const encodeEvent = (frame: BusEvent, kept: Kept, epoch: string): Encoded | null => {
    const { id } = frame
    let text: string | undefined
    try {
      text = textOf(frame, kept, epochIn(epoch))
    } catch (error) {
      if (format) report({ type: 'callback_error', error })
      else if (!kept.failed) {
        kept.failed = true
        report({ type: 'event_not_serialisable', id, eventType: frame.type })
      }
      // It is told as lost, and the cursor moves past it.
      const lost = { lastDeliveredId: id - 1, earliestAvailableId: id + 1, epoch }
      text = encoder.control(resyncFrame('not_serialisable', lost)) + encoder.cursor(id, epoch)
    }
    return text ? { bytes: encode(text), cursor: /^id:/m.test(text) ? id : undefined } : null
  }

  const encoder: Encoder = {
    event(frame, subscription) {
      const { epoch } = subscription
      if (epoch !== namedFor) name = `${data} ${event} ${epochIn(epoch) ?? ''}`
      namedFor = epoch
      const kept = subscription.keptOf(frame)
      const encodings = encodingsOf(kept)
      let encoded = encodings[name]
      if (encoded === undefined) encodings[name] = encoded = encodeEvent(frame, kept, epoch)
      return encoded
    },
    control(frame) {
      try {
        return textOf(frame, { bytes: 0 }) ?? ''
      } catch (error) {
        report({ type: 'callback_error', error })
        return ''
      }
    },
    cursor: (id, epoch) => cursorBlock(id, epochIn(epoch)),
  }
  return encoder
}

/** `state_resync_required`, where it is the adapter that must say so. */
export function resyncFrame(
  reason: 'invalid_cursor' | 'not_serialisable',
  at: { readonly lastDeliveredId?: number; readonly earliestAvailableId: number; readonly epoch: string },
): Frame {
  return { v: 1, type: 'state_resync_required', data: { reason, ...at } }
}
