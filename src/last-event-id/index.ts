/**
 * The cursor that a client sends back: strict parsers for the `Last-Event-ID` header, and the writer of cursors with an
 * epoch.
 *
 * A conforming client stores whatever the `id:` line held, without looking into it, and sends it back as it is when it
 * reconnects (HTML standard, § 9.2.4 "The `Last-Event-ID` header"). So an epoch inside the id is all that protects a
 * browser's `EventSource`, which can neither set a request header nor read one of the response, when a server restarts
 * and counts from 1 again.
 *
 * Anybody can send that header. The parsers take any value, never throw, and tell *absent* from *invalid*: both give
 * `undefined`, but only the second calls `onInvalid`. Junk must not become a cursor (`Number('')` is 0, which would
 * replay everything).
 */
import { type Cursor, type CursorInput, cursorText } from '../internal/cursor.ts'

export type { Cursor, CursorInput }

/**
 * Told about a value that is there and is no cursor. `value` is a copy for a log: at most 64 characters, and every
 * control, format, private or unassigned character and line separator in it is replaced by U+FFFD. What it throws is
 * swallowed.
 */
export type OnInvalidCursor = (value: string) => void

const NUMBER = /^()(\d+)$/
const CURSOR = /^(?:([\w-]{1,64}):(?!0\d))?(\d+)$/

/**
 * The number in a `Last-Event-ID` header: ASCII digits only, at most 2^53 − 1, leading zeros allowed.
 *
 * `undefined`, `null` and the empty string (what Node delivers for an empty header) are absent: `undefined`. Everything
 * else, also what is no string, is `undefined` and told to `onInvalid`: signs, fractions, exponents, blanks at an end,
 * other scripts' digits, `5, 7` (a header that was sent twice), and a cursor with an epoch (see {@link parseCursor}).
 * Never throws.
 */
export function parseLastEventId(value: unknown, onInvalid?: OnInvalidCursor): number | undefined {
  return parse(NUMBER, value, onInvalid)?.id
}

/**
 * The cursor in a `Last-Event-ID` header: what {@link parseLastEventId} accepts, or `<epoch>:<digits>` with an epoch of
 * [A-Za-z0-9_-]{1,64} and digits without leading zeros (`<epoch>:0` is valid), in whichever form the server writes its
 * ids. `epoch` is set only where the value had one. Absent and invalid as in {@link parseLastEventId}. Never throws.
 */
export function parseCursor(value: unknown, onInvalid?: OnInvalidCursor): Cursor | undefined {
  return parse(CURSOR, value, onInvalid)
}

/**
 * `7`, or `<epoch>:7`: what {@link parseCursor} reads back to the same cursor, and what an `id:` line carries.
 *
 * @throws TypeError where `cursor`, `id` or `epoch` is of a wrong type.
 * @throws RangeError where `id` is not an integer from 0 to 2^53 − 1, or `epoch` not of the form [A-Za-z0-9_-]{1,64}.
 */
export function formatCursor(cursor: CursorInput): string {
  const { id, epoch } = cursor
  if (typeof id !== 'number') throw new TypeError('id must be a number')
  if (epoch !== undefined && typeof epoch !== 'string') throw new TypeError('epoch must be a string')
  const text = cursorText(id, epoch)
  // What could not be read back is not written.
  if (!parse(CURSOR, text)) throw new RangeError('id must be an integer >= 0, epoch [A-Za-z0-9_-]{1,64}')
  return text
}

function parse(pattern: RegExp, value: unknown, onInvalid?: OnInvalidCursor): Cursor | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const match = typeof value === 'string' && pattern.exec(value)
  if (match) {
    // Rounding cannot smuggle one in: every integer past 2^53 − 1 rounds to at least 2^53, which is not safe.
    const id = Number(match[2])
    if (Number.isSafeInteger(id)) return match[1] ? { epoch: match[1], id } : { id }
  }
  try {
    onInvalid?.(loggable(value))
  } catch {
    // A diagnostic that fails must not fail the request that brought the header.
  }
  return undefined
}

function loggable(value: unknown): string {
  let text: string
  try {
    text = String(value)
  } catch {
    text = typeof value
  }
  // Clipped first, so that a header of any length costs the same; a surrogate pair cut in half is replaced as well.
  return text.slice(0, 64).replace(/[\p{C}\u2028\u2029]/gu, '\ufffd')
}
