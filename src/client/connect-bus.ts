import type { AnyEvents, EventMap, Frame } from '../core/event.ts'
import type { SseOptions } from './options.ts'
import { createStream, type SseStream } from './stream.ts'

const CURSOR = /^(?:([\w-]{1,64}):)?(\d{1,16})$/

export function connectBus<Events extends EventMap<Events> = AnyEvents>(
  url: string | URL,
  options: SseOptions = {},
): SseStream<Frame<Events>> {
  return createStream<Frame>(url, options, (outlet) => {
    let epoch: string | undefined
    let last = -1
    let bare = false
    const start = CURSOR.exec(outlet.cursor ?? '')
    if (start) {
      epoch = start[1]
      last = Number(start[2])
    }
    return (id, event, data) => {
      if (id !== undefined) {
        const match = CURSOR.exec(id)
        if (match) {
          const now = match[1] ?? epoch
          const n = Number(match[2])
          if (now === epoch) {
            if (n <= last) return
          } else if (epoch !== undefined) {
            const earliestAvailableId = data ? n : n + 1
            outlet.cursor = `${now}:${earliestAvailableId - 1}`
            outlet.emit({
              v: 1,
              type: 'state_resync_required',
              data: {
                reason: 'epoch_reset',
                lastDeliveredId: last,
                earliestAvailableId,
                epoch: now,
                detail: 'epoch_mismatch',
              },
            } as Frame)
          }
          epoch = now
          last = n
          bare = match[1] === undefined
        }
        outlet.cursor = id || undefined
        if (!data) return
      }
      let frame: any
      try {
        frame = JSON.parse(data)
        if (frame?.v !== 1 || typeof frame.type !== 'string') throw new TypeError('not an envelope')
      } catch (error) {
        if (id !== undefined || (error instanceof SyntaxError && (event === undefined || data[0] === '{'))) {
          outlet.reject(error as Error, {
            ...(id !== undefined && { id }),
            event: event ?? 'message',
            data,
            cursor: outlet.cursor,
          })
        }
        return
      }
      const { type, data: payload } = frame
      if (type === 'state_resync_required' && id === undefined && payload) {
        const cursor = `${payload.epoch}:${payload.earliestAvailableId - 1}`
        const match = typeof payload.epoch === 'string' && CURSOR.exec(cursor)
        if (match) {
          epoch = payload.epoch
          last = -1
          if (payload.reason !== 'invalid_cursor') {
            last = +match[2]!
            outlet.cursor = bare ? `${last}` : cursor
          }
        }
      }
      outlet.emit(frame, id)
      if (id === undefined && /^(client_evicted|stream_error)$/.test(type)) outlet.last(type, payload ?? {})
    }
  }) as unknown as SseStream<Frame<Events>>
}
