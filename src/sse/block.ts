/** Blocks of an event stream from values that were checked: one encoder for the formatters and for every server. */

import type { Frame } from '../core/event.ts'
import { cursorText } from '../internal/cursor.ts'
import { envelopeJson, type Kept, payloadJson } from '../internal/kept.ts'

export interface BlockOptions {
  readonly epoch?: string | undefined
  readonly data: 'envelope' | 'payload'
  readonly event: boolean
}

/** A frame, whose type has no CR, LF or NUL. Control frames have their `event:` line always, and never an id. */
export function frameBlock(frame: Frame, kept: Kept, { epoch, data, event }: BlockOptions): string {
  const { id, type } = frame
  // A page's `error` and `open` handlers are those of its connection.
  const named = id === undefined || (event && type !== 'error' && type !== 'open')
  const json = (data === 'envelope' ? envelopeJson : payloadJson)(frame as never, kept)
  return `${id === undefined ? '' : idLine(id, epoch)}${named ? `event: ${type}\n` : ''}data: ${json}\n\n`
}

export function cursorBlock(id: number, epoch: string | undefined): string {
  return `${idLine(id, epoch)}event: cursor\ndata:\n\n`
}

export function idLine(id: number, epoch: string | undefined): string {
  return `id: ${cursorText(id, epoch)}\n`
}
