/** Several frames as one chunk, put together once for all the streams that take the same ones at the same time. */

import type { Bytes } from './encoder.ts'

/** What was joined last; gone with the microtask, so that nobody's payloads are kept. */
let last: { readonly chunks: readonly Uint8Array[]; readonly joined: Uint8Array } | undefined

/**
 * The chunks put together by `bytes`. A burst that reaches a hundred streams is the same list of encoded events for each
 * that has the same format and filter: to compare the lists costs a tenth of copying what is in them.
 */
export function joined(bytes: Bytes, chunks: readonly Uint8Array[], size: number): Uint8Array {
  if (last?.chunks.length === chunks.length && chunks.every((chunk, at) => chunk === last?.chunks[at])) {
    return last.joined
  }
  if (!last) {
    queueMicrotask(() => {
      last = undefined
    })
  }
  last = { chunks, joined: bytes.join(chunks, size) }
  return last.joined
}
