/**
 * Frames as text of an event stream (HTML standard, § 9.2 "Server-sent events"): pure functions from values to strings.
 *
 * Every function returns whole blocks: what it returns ends with the blank line that dispatches it and holds no other.
 * So results may be put together in any order, and a write that takes a whole result never cuts a block in two. Nothing
 * that a caller passes can begin a line of its own (§ 9.2.5: CRLF, LF and CR each end one): text that may have lines is
 * split and prefixed line by line, and a field that has only one refuses them.
 *
 * Whatever is refused is refused with a `TypeError` that names the argument. An object given for text (a `String`
 * object) is converted once, and it is the converted string that is checked and written.
 */
import type { BusEvent, ControlFrame, Frame } from '../core/event.ts'
import type { Cursor, CursorInput } from '../internal/cursor.ts'
import { envelopeJson, payloadJson } from '../internal/kept.ts'

export type { Cursor, CursorInput }

export interface SseFrameOptions {
  /** Written into the id, `<epoch>:<id>`, so that a browser's cursor survives a restart. Default: the bare id. */
  readonly epoch?: string | undefined
  /** `envelope`, the default: the whole frame, keys in the order of the envelope. `payload`: `frame.data` alone. */
  readonly data?: 'envelope' | 'payload' | undefined
  /**
   * Whether the `event:` line is written. Default: true for `envelope`, false for `payload`. A control frame has it
   * always; the types `error` and `open` have it never, since they would reach a page's connection handlers.
   */
  readonly event?: boolean | undefined
}

/** At least one field. */
export interface SseFields {
  /** 1 to 256 characters of printable ASCII without a blank at an end. */
  readonly id?: string | undefined
  /** No CR, LF or NUL. Empty: the line is left out, which means the same (§ 9.2.6). */
  readonly event?: string | undefined
  /** Any text; each CRLF, LF and CR arrives as one LF. */
  readonly data?: string | undefined
  /** Milliseconds: an integer ≥ 0. */
  readonly retry?: number | undefined
}

const ONE_LINE = /^[^\r\n\0]*$/

/**
 * The types that decide about their lines themselves: control frames, whose names are longer than five letters, and
 * those that never get an `event:` line. One look-up for all, since each event pays for it.
 */
const SPECIAL_TYPES: ReadonlySet<string> = /* @__PURE__ */ new Set<
  ControlFrame['type'] | 'error' | 'open' | ''
>([
  'slow_client_warning',
  'client_evicted',
  'state_resync_required',
  'replay_complete',
  'stream_error',
  'error',
  'open',
  '',
])

/**
 * One frame of a bus as one block: `id: 7`, `event: <type>`, `data: <JSON>` and a blank line.
 *
 * Only an event gets an `id:` line, so no control frame ever moves a client's cursor (§ 9.2.6: the last event ID changes
 * where a block has an `id` field). `data` is `null` where JSON gives nothing (undefined, a function, a symbol). A frame
 * that a bus made keeps its JSON, which is made once however often it is formatted; a frame written by hand is encoded
 * afresh.
 *
 * @throws TypeError for a wrong option (an epoch is looked at where there is an id); a frame whose id is not an integer
 * from 0 to 2^53 − 1, or whose type has CR, LF or NUL. Throws what `JSON.stringify` throws for the data.
 */
export function formatSseFrame(frame: Frame, options: SseFrameOptions = {}): string {
  if (typeof options !== 'object') check('options', 0, /object/)
  const { epoch, data = 'envelope', event = data === 'envelope' } = options
  if (data !== 'envelope' && data !== 'payload') check('data', 0, /envelope|payload/)
  if (event !== !!event) check('event', 0, /boolean/)
  const type = check('type', frame.type, ONE_LINE)
  const control = SPECIAL_TYPES.has(type) ? type.length > 5 : undefined
  // Checked on a control frame too, which is not to have one.
  const head = frame.id === undefined ? '' : cursorLine(frame.id, epoch)
  return `${control ? '' : head}${
    (control ?? event) ? `event: ${type}\n` : ''
  }data: ${(data === 'envelope' ? envelopeJson : payloadJson)(frame as BusEvent)}\n\n`
}

/**
 * The **cursor block**, `id: <cursor>`, `event: cursor`, an empty `data:` and a blank line: moves the cursor of every
 * known client and shows nothing to `onmessage`.
 *
 * The standard moves the cursor for a block with an `id:` line alone (§ 9.2.6), but Firefox, WebKit and several parsers
 * ignore a block without a data line. The empty `data:` line makes it one that they dispatch, hence the event's name:
 * a page that listens for `message` does not hear it.
 *
 * @throws TypeError where `id` is not an integer from 0 to 2^53 − 1 or `epoch` not of the form [A-Za-z0-9_-]{1,64}.
 */
export function formatSseCursor(cursor: CursorInput): string {
  return `${cursorLine(cursor.id, cursor.epoch)}event: cursor\ndata:\n\n`
}

/**
 * One block from strings, the low-level form. Fields that are undefined are left out; a block without data dispatches
 * nothing, and moves the cursor or sets the reconnection time all the same (§ 9.2.6).
 *
 * `data` is split at CRLF, LF and CR and nowhere else (U+2028 is a character like any other), one `data:` line each, so
 * that a conforming parser gives it back with every break, as LF, and every leading space.
 *
 * @throws TypeError for a field of a wrong type; CR, LF or NUL in `id` or `event`; an `id` that is empty, longer than 256
 * characters, not printable ASCII or with a blank at an end (clients send it back in a header); a `retry` that is not an
 * integer ≥ 0; and where no field is left.
 */
export function formatSseFields(fields: SseFields): string {
  const { id, event, data, retry } = fields
  const block =
    line('id', id, /^[!-~]([ -~]{0,254}[!-~])?$/) +
    line('event', event === '' ? undefined : event, ONE_LINE) +
    line('data', data, /^/) +
    line('retry', retry)
  return `${check('fields', block, /./)}\n`
}

/**
 * A comment, one `: line` per line of the text, and a blank line. Clients ignore it, whatever it says (§ 9.2.6); it keeps
 * proxies from closing an idle connection (§ 9.2.7).
 *
 * @throws TypeError where `comment` is no text.
 */
export function formatSseComment(comment: string): string {
  return `${line('', check('comment', comment, /^/), /^/)}\n`
}

/**
 * `retry: <ms>` and a blank line: how long a client waits before it reconnects (§ 9.2.6).
 *
 * @throws TypeError where `retry` is not an integer ≥ 0; a string of digits is none.
 */
export function formatSseRetry(retry: number): string {
  return `retry: ${check('retry', retry)}\n\n`
}

/** Text that matches the pattern; without one, an integer ≥ 0. */
// biome-ignore lint/suspicious/noExplicitAny: it takes whatever callers pass, and its callers write what it returns.
function check(name: string, value: any, pattern?: RegExp): any {
  if (value && typeof value === 'object') value = `${value}`
  if (
    pattern ? typeof value === 'string' && pattern.test(value) : Number.isSafeInteger(value) && value >= 0
  ) {
    return value
  }
  throw TypeError(`${name} must be ${pattern || 'an integer >= 0'}`)
}

/** A field, one line per line of its text; nothing for undefined. */
function line(name: string, value: unknown, pattern?: RegExp): string {
  return value === undefined
    ? ''
    : `${name}: ${`${check(name, value, pattern)}`.replace(/\r\n?|\n/g, `\n${name}: `)}\n`
}

function cursorLine(id: unknown, epoch: unknown): string {
  return `id: ${epoch === undefined ? '' : `${check('epoch', epoch, /^[\w-]{1,64}$/)}:`}${check('id', id)}\n`
}
