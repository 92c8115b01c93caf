import { expect } from 'vitest'

/**
 * Options that `serveSse` and `sseResponse` refuse: [option, value, kind of error]. A string that no SSE field can carry
 * is of the right type and yet a `TypeError` for the formatter, so that either is right for it.
 */
const EITHER = 'TypeError|RangeError'

export const badOptions: readonly (readonly [string, unknown, string])[] = [
  ...(['heartbeatMs', 'stallTimeoutMs', 'closeTimeoutMs'] as const).flatMap((name) => [
    [name, -1, 'RangeError'] as const,
    [name, Number.NaN, 'RangeError'] as const,
    [name, -Infinity, 'RangeError'] as const,
    [name, '100', 'TypeError'] as const,
    [name, null, 'TypeError'] as const,
    [name, false, 'TypeError'] as const,
  ]),
  ['heartbeatMs', 1.5, 'RangeError'],
  ['stallTimeoutMs', 0.5, 'RangeError'],
  ['closeTimeoutMs', 1.5, 'RangeError'],
  ['retryMs', 2.5, 'RangeError'],
  ['retryMs', Infinity, 'RangeError'],
  ['retryMs', [1.5, 3], 'RangeError'],
  ['retryMs', [1, Infinity], 'RangeError'],
  ['retryMs', -1, 'RangeError'],
  ['retryMs', Number.NaN, 'RangeError'],
  ['retryMs', '3000', 'TypeError'],
  ['retryMs', null, 'TypeError'],
  ['retryMs', [1000], 'TypeError'],
  ['retryMs', [1000, '2000'], 'TypeError'],
  ['retryMs', [2000, 1000], 'RangeError'],
  ['retryMs', [-1, 1000], 'RangeError'],
  ['cursor', 'number', 'RangeError'],
  ['cursor', 7, 'TypeError'],
  ['data', 'text', 'RangeError'],
  ['data', null, 'TypeError'],
  ['event', 'yes', 'TypeError'],
  ['heartbeatEvent', 7, 'TypeError'],
  ['heartbeatEvent', 'two\nlines', EITHER],
  ['heartbeatEvent', 'a\rb', EITHER],
  ['heartbeatEvent', 'a\0b', EITHER],
  ['headers', 'X: y', 'TypeError'],
  ['headers', null, 'TypeError'],
  ['headers', { 'Transfer-Encoding': 'chunked' }, 'TypeError'],
  ['headers', { 'content-ENCODING': 'gzip' }, 'TypeError'],
  ['headers', { 'Content-Length': '10' }, 'TypeError'],
  ['headers', { connection: 'keep-alive' }, 'TypeError'],
  ['headers', { 'Keep-Alive': 'timeout=5' }, 'TypeError'],
  ['headers', { 'X-Split': 'a\r\nSet-Cookie: b' }, 'TypeError'],
  ['headers', { 'bad name': 'a' }, 'TypeError'],
  ['format', 'json', 'TypeError'],
  ['format', null, 'TypeError'],
  ['lastEventIdParam', 7, 'TypeError'],
  ['maxQueuedParam', 7, 'TypeError'],
  ['onLimit', 'drop', 'RangeError'],
  ['onLimit', 503, 'TypeError'],
  ['onOpen', 'x', 'TypeError'],
  ['onClose', null, 'TypeError'],
  ['signal', {}, 'TypeError'],
  ['signal', { aborted: false }, 'TypeError'],
  ['signal', null, 'TypeError'],
  ['filter', 'note', 'TypeError'],
  ['warnings', 'no', 'TypeError'],
  ['maxQueued', 0, 'RangeError'],
  ['maxQueued', 1.5, 'RangeError'],
  ['maxQueued', Number.NaN, 'RangeError'],
  ['maxQueued', '16', 'TypeError'],
  ['maxQueuedBytes', 0, 'RangeError'],
  // No bus here has a byte cap, so that nothing would be measured.
  ['maxQueuedBytes', 1000, 'RangeError'],
  ['from', 'latest', 'RangeError'],
  ['from', 7, 'TypeError'],
  ['from', { last: -1 }, 'RangeError'],
  ['from', { last: 1.5 }, 'RangeError'],
  ['from', { last: '2' }, 'TypeError'],
]

/** The error that a bad option must give: its class, and a message that names the option. */
export const complaint = (name: string, kind: string) => ({
  name: expect.stringMatching(new RegExp(`^(${kind})$`)),
  message: expect.stringMatching(new RegExp(name, 'i')),
})
