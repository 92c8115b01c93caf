import type { SseBlock, SseOptions } from './options.ts'
import { createStream, type Ending, isLast, type SseStream } from './stream.ts'

/**
 * Reads any server's event stream (HTML standard, § 9.2) over as many connections as it takes, on everything that has
 * `fetch`: with headers, methods and bodies that a page's `EventSource` cannot send.
 *
 * ```ts
 * for await (const { event, data } of connectSse('/chat', { method: 'POST', body: JSON.stringify(question) })) show(data)
 * ```
 *
 * What is kept: the last id, which the next connection sends (`Last-Event-ID`, or `cursorParam`), so that a server that
 * resumes leaves no gap. A connection that brought no id keeps it, an empty one clears it (§ 9.2.6). Blocks come in order,
 * each as the server sent it; one that a cut left unfinished is dropped (§ 9.2.6) and is the server's to send again.
 * Cursor blocks (an id without data, or with empty data and named `cursor`) move the cursor and are not handed out.
 *
 * The first request leaves at once, as with `EventSource`. From then on bytes are read only while a `next()` waits: a
 * consumer that stops reading holds up the server, not memory.
 *
 * - **Reconnects** after the end of a response, an error of the network, a silence of `idleTimeoutMs`, and the statuses
 *   408, 425, 429 and 5xx. The delay is `retryMs`, or what the server's `retry:` says, and up to a half more by chance,
 *   doubled with each failure in a row up to `maxRetryMs`; never less than the `Retry-After` of the answer. The first event
 *   with an id, or 10 s of being open, ends the row.
 * - **Is done** after 204, `signal`, `close()`, leaving the loop, and a `stream_error` with the code `gone` or
 *   `session_taken_over`. Any other `stream_error` is a failure. After a `client_evicted` it reconnects at once, or is done
 *   (`onEvicted`). Both are handed out before, and both only where the block has no id.
 * - **Rejects** once, and is over, with an {@link SseHttpError} for any other status and for a wrong content type, and once
 *   `maxRetries` in a row are spent; with a `RangeError` at a block larger than `maxBufferSize`. What was read before is
 *   handed out first. `cursor` says where a new stream would go on.
 *
 * Callbacks that throw or reject are ignored.
 *
 * @throws TypeError or RangeError naming the option, or for what the platform's `fetch` could never send.
 */
export function connectSse(url: string | URL, options: SseOptions = {}): SseStream<SseBlock> {
  return createStream(url, options, (outlet) => (id, event = 'message', data) => {
    const named = id !== undefined
    if (named) {
      outlet.cursor = id || undefined
      // Anybody's event may be called `cursor`; with empty data it is the block that moves it.
      if (event === 'cursor' && !data) return
    }
    const { cursor } = outlet
    outlet.put(named ? { id, event, data, cursor } : { event, data, cursor })
    if (!named && isLast(event)) outlet.last(event, endingOf(data))
  })
}

/** Of an envelope, of a payload, or nothing of what is neither. */
function endingOf(data: string): Ending {
  try {
    const frame = JSON.parse(data)
    return frame.data ?? frame
  } catch {
    return {}
  }
}
