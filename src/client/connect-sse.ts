import type { SseBlock, SseOptions } from './options.ts'
import { createStream, type SseStream } from './stream.ts'

export function connectSse(url: string | URL, options: SseOptions = {}): SseStream<SseBlock> {
  return createStream(url, options, (outlet) => (id, event = 'message', data) => {
    if (id !== undefined) outlet.cursor = id || undefined
    // A stranger's event may be called `cursor` too.
    if (id !== undefined && event === 'cursor' && !data) return
    const { cursor } = outlet
    outlet.emit(id === undefined ? { event, data, cursor } : { id, event, data, cursor }, id)
    if (id === undefined && /^(client_evicted|stream_error)$/.test(event)) {
      let payload: any
      try {
        payload = JSON.parse(data)
      } catch {}
      outlet.last(event, payload?.data ?? payload ?? {})
    }
  })
}
