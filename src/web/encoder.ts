/**
 * Frames as bytes of an event stream. What was made of an event is kept with it, so that each event is encoded once per
 * format and epoch however many streams carry it.
 */

import type { BusEvent, Diagnostic, Frame, Subscription } from '../index.ts'
import type { Kept } from '../internal/kept.ts'
import { cursorBlock, frameBlock } from '../sse/block.ts'
import type { CheckedStreamOptions } from './options.ts'

/** One frame, ready to be written. */
export interface Encoded {
  readonly bytes: Uint8Array
  /** The cursor that a client has when it read this, where this moves it. */
  readonly cursor: number | undefined
}

/** How a runtime makes bytes. */
export interface Bytes {
  encode(text: string): Uint8Array
  join(chunks: Uint8Array[], size: number): Uint8Array
}

/** One encoding of an event: under which name, and undefined where the format leaves the event out. */
interface Memo {
  readonly name: string
  readonly encoded: Encoded | undefined
}

/**
 * What is kept with an event: its encodings by the forms that we know, and by the user's functions. The latter weakly, so
 * that a handler that makes a new `format` for each request does not make each event collect an encoding per request.
 */
interface Encodings {
  readonly own: Memo[]
  custom?: WeakMap<object, Memo[]>
}

export class Encoder {
  readonly #options: CheckedStreamOptions
  readonly #name: string
  readonly bytes: Bytes

  constructor(options: CheckedStreamOptions, bytes: Bytes) {
    this.#options = options
    this.#name = `${options.data} ${options.event} `
    this.bytes = bytes
  }

  /** Text that is no frame of a bus, and the cursor behind it. */
  encode(text: string, cursor?: number): Encoded {
    return { bytes: this.bytes.encode(text), cursor }
  }

  /** Moves a client's cursor and shows it nothing. */
  cursorText(id: number, epoch: string): string {
    return cursorBlock(id, this.#epochIn(epoch))
  }

  /** A control frame; empty where the format leaves it out, or throws. */
  controlText(frame: Frame, epoch: string, report?: (diagnostic: Diagnostic) => void): string {
    try {
      return this.#textOf(frame, { bytes: 0 }, epoch) ?? ''
    } catch (error) {
      report?.({ type: 'callback_error', error })
      return ''
    }
  }

  /** An event of the subscription, or undefined where the format leaves it out. */
  event(event: BusEvent, subscription: Subscription): Encoded | undefined {
    const kept = subscription.keptOf(event)
    const epoch = this.#epochIn(subscription.epoch)
    const name = this.#name + epoch
    const memos = this.#memosOf(kept)
    const memo = memos.find((candidate) => candidate.name === name)
    if (memo !== undefined) return memo.encoded
    const text = this.#eventText(event, kept, subscription)
    const moves = text !== undefined && /^id:/m.test(text)
    const encoded = text === undefined ? undefined : this.encode(text, moves ? event.id : undefined)
    memos.push({ name, encoded })
    return encoded
  }

  #memosOf(kept: Kept): Memo[] {
    const { format } = this.#options
    kept.wire ??= { own: [] }
    const encodings = kept.wire as Encodings
    if (format === undefined) return encodings.own
    encodings.custom ??= new WeakMap()
    const memos = encodings.custom.get(format) ?? []
    encodings.custom.set(format, memos)
    return memos
  }

  #epochIn(epoch: string): string | undefined {
    return this.#options.cursor === 'epoch' ? epoch : undefined
  }

  #textOf(frame: Frame, kept: Kept, epoch: string): string | undefined {
    const { format, data, event } = this.#options
    return format ? format(frame) : frameBlock(frame, kept, { epoch: this.#epochIn(epoch), data, event })
  }

  /** An event that cannot be written is told as lost, and the cursor moves past it. */
  #eventText(event: BusEvent, kept: Kept, subscription: Subscription): string | undefined {
    const { id, type } = event
    const { epoch } = subscription
    try {
      return this.#textOf(event, kept, epoch)
    } catch (error) {
      if (this.#options.format) subscription.report({ type: 'callback_error', error })
      else if (!kept.failed) subscription.report({ type: 'event_not_serialisable', id, eventType: type })
      kept.failed = true
    }
    const reason = 'not_serialisable'
    const resync: Frame = {
      v: 1,
      type: 'state_resync_required',
      data: { reason, lastDeliveredId: id - 1, earliestAvailableId: id + 1, epoch },
    }
    return this.controlText(resync, epoch) + this.cursorText(id, epoch)
  }
}
