import type { AnyEvents, BusEvent, ControlFrame, EventMap, Frame } from '../core/event.ts'
import type { SseOptions } from './options.ts'
import { createStream, isLast, type SseStream } from './stream.ts'

/** Sixteen digits: longer ones are no number that can be compared, and no bus counts so far. */
const CURSOR = /^(?:([\w-]{1,64}):)?(\d{1,16})$/

/**
 * Reads the frames of a bus from `sseResponse` or `serveSse`: every event exactly once and in order, or a frame that says
 * what is missing. What {@link connectSse} says of connections, retries and ends holds here too.
 *
 * ```ts
 * for await (const frame of connectBus<ChatEvents>('/events')) {
 *   if (frame.type === 'chunk') append(frame.data)
 *   else if (frame.type === 'state_resync_required') await reload()
 * }
 * ```
 *
 * - Within one epoch an event at or below the cursor is a duplicate and dropped.
 * - `state_resync_required` moves the cursor to where its server goes on, `<epoch>:<earliestAvailableId − 1>` (without the
 *   epoch where the server's ids have none), also downwards: a cut right behind it announces nothing twice. One with
 *   the reason `invalid_cursor` does not; the cursor block behind it does.
 * - An id of another epoch that no such frame announced is preceded by one made here: `epoch_reset`, once.
 * - A block without an id that is no envelope (a heartbeat event) is skipped. A block that should be one and is not goes
 *   to `onError` and is skipped, and the cursor moves on. So a server with `data: 'payload'` cannot be read: it sends
 *   no envelopes.
 *
 * Frames are the reader's own, parsed afresh and not frozen. Nothing checks them against `Events`.
 *
 * @throws TypeError or RangeError naming the option.
 */
export function connectBus<Events extends EventMap<Events> = AnyEvents>(
  url: string | URL,
  options: SseOptions = {},
): SseStream<Frame<Events>> {
  const stream = createStream<Frame>(url, options, (outlet) => {
    const start = CURSOR.exec(outlet.cursor ?? '')
    /** The bus's, once something named it. Ids without one belong to it. */
    let epoch = start?.[1]
    let last = start ? Number(start[2]) : -1
    /** The server writes its ids without an epoch, and may read no other cursors. */
    let bare = false

    /** Moves the cursor; false for a duplicate. */
    const moved = (id: string, isEvent: boolean) => {
      const match = CURSOR.exec(id)
      if (match) {
        const number = Number(match[2])
        const named = match[1] ?? epoch
        if (named === epoch && number <= last) return false
        if (named !== epoch && epoch !== undefined) {
          const earliestAvailableId = isEvent ? number : number + 1
          outlet.cursor = `${named}:${earliestAvailableId - 1}`
          outlet.put({
            v: 1,
            type: 'state_resync_required',
            data: {
              reason: 'epoch_reset',
              ...(last >= 0 && { lastDeliveredId: last }),
              earliestAvailableId,
              epoch: named as string,
              detail: 'epoch_mismatch',
            },
          })
        }
        epoch = named
        last = number
        bare = match[1] === undefined
      }
      outlet.cursor = id || undefined
      return true
    }

    const control = ({ type, data }: ControlFrame) => {
      if (type !== 'state_resync_required') return
      const cursor = `${data?.epoch}:${data?.earliestAvailableId - 1}`
      const match = CURSOR.exec(cursor)
      if (!match || typeof data.epoch !== 'string') return
      epoch = data.epoch
      last = -1
      if (data.reason === 'invalid_cursor') return
      last = Number(match[2])
      outlet.cursor = bare ? `${last}` : cursor
    }

    return (id, event, data) => {
      const named = id !== undefined
      if (named && (!moved(id, !!data) || !data)) return
      let frame: Frame
      try {
        frame = JSON.parse(data)
        if (frame?.v !== 1 || typeof frame.type !== 'string') throw new TypeError('no envelope of a bus')
      } catch (error) {
        // Without an id, a name and a brace it was never meant to be a frame.
        if (named || (error instanceof SyntaxError && (!event || data[0] === '{'))) {
          const { cursor } = outlet
          outlet.reject(error as Error, { ...(named && { id }), event: event ?? 'message', data, cursor })
        }
        return
      }
      if (!named) control(frame as ControlFrame)
      outlet.put(frame)
      if (!named && isLast(frame.type)) outlet.last(frame.type, (frame as BusEvent).data ?? {})
    }
  })
  return stream as unknown as SseStream<Frame<Events>>
}
