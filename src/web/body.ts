/** A stream as the body of a `Response`: pulled by its reader, and by nothing else. */

import { utf8 } from '../internal/kept.ts'
import type { Pump, Sink } from '../internal/pump.ts'
import type { Bytes } from './encoder.ts'

export const webBytes: Bytes = {
  encode: utf8,
  join(chunks, size) {
    const joined = new Uint8Array(size)
    let at = 0
    for (const chunk of chunks) {
      joined.set(chunk, at)
      at += chunk.length
    }
    return joined
  },
}

/** What is pumped: an SSE stream of a bus, or a transport. */
export interface Pumped {
  readonly pump: Pump
  start(sink: Sink): void
}

/** Starts the stream. `abort` is the request's signal: aborted, the client is gone. */
export function bodyOf(stream: Pumped, abort: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const { pump } = stream
  let controller: ReadableStreamDefaultController<Uint8Array>
  const gone = () => pump.destroy('disconnected')
  const sink: Sink = {
    pending: 0,
    get full() {
      return (controller.desiredSize ?? 0) < 0
    },
    // A copy: the bytes of an event are shared by all streams, and a reader may transfer what it is given.
    write(bytes) {
      controller.enqueue(bytes.slice())
      return false
    },
    end() {
      controller.close()
      pump.settle()
    },
    destroy() {
      controller.error(new Error('the stream was cut off'))
    },
    settled() {
      abort?.removeEventListener('abort', gone)
    },
  }
  return new ReadableStream<Uint8Array>(
    {
      start(created) {
        controller = created
        abort?.addEventListener('abort', gone)
        stream.start(sink)
        if (pump.bytes === 0) pump.launched()
        if (abort?.aborted) gone()
      },
      pull() {
        pump.flushed()
        pump.resume()
      },
      cancel: gone,
    },
    { highWaterMark: 0 },
  )
}
