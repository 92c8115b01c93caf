import type { AnyEvents, ControlFrame, EventMap, Frame } from '../core/event.ts'
import { createMoves } from './moves.ts'
import type { SseOptions } from './options.ts'
import { createStream, type Ending, isLast, type SseStream } from './stream.ts'

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
    const moves = createMoves(outlet, (data) => outlet.put({ v: 1, type: 'state_resync_required', data }))

    return (id, event, data) => {
      const named = id !== undefined
      if (named) {
        if (!moves.to(id, !!data) || !data) return
      }
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
      if (named) return outlet.put(frame)
      const { type, data: said } = frame as ControlFrame
      if (type === 'state_resync_required') moves.resync(said)
      outlet.put(frame)
      if (isLast(type)) outlet.last(type, (said ?? {}) as Ending)
    }
  })
  return stream as unknown as SseStream<Frame<Events>>
}
