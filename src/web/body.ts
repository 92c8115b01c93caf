/** A stream as the body of a `Response`: pulled by its reader, and by nothing else. */

import { utf8 } from '../internal/kept.ts'
import type { Pump } from '../internal/pump.ts'
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

/** Starts the stream. Where the request's `signal` is aborted, the client is gone; one of HEAD has no body, and it is over. */
export function bodyOf(
  pump: Pump,
  { method, signal: abort }: { readonly method?: string; readonly signal?: AbortSignal | undefined },
): ReadableStream<Uint8Array> | undefined {
  if (method === 'HEAD') return void pump.settle()
  let read = true
  /** While a chunk is handed over: a pull then says that further reads wait behind the one that took it. */
  let writing = false
  let readsWait = false
  const gone = () => {
    read = false
    pump.destroy('disconnected')
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        abort?.addEventListener('abort', gone)
        pump.start({
          // A copy: the bytes of an event are shared by all streams, and a reader may transfer or overwrite what it is
          // given. Not `slice`: what Node makes bytes of gives a view.
          write(bytes) {
            writing = true
            readsWait = false
            controller.enqueue(new Uint8Array(bytes))
            writing = false
            if (!readsWait) return controller.desiredSize as number
            pump.flushed()
            return 1
          },
          end() {
            controller.close()
            pump.settle()
          },
          destroy() {
            try {
              // Where nobody is left to hear of it, no error: Deno prints one that nobody hears.
              if (read) controller.error(new Error('the stream was cut off'))
              else controller.close()
            } catch {
              // A cancelled stream is closed already, and says so by throwing.
            }
          },
          settled() {
            abort?.removeEventListener('abort', gone)
          },
        })
        if (abort?.aborted) gone()
      },
      pull() {
        readsWait = writing
        if (writing) return
        pump.flushed()
        pump.resume()
      },
      cancel: gone,
    },
    { highWaterMark: 0 },
  )
}
