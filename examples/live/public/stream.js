/**
 * The browser's own `EventSource`, and what can be told from it: is it connected, is this a replay, where does the
 * cursor stand. It resumes by itself; nothing here helps it.
 */
const CONTROL_TYPES = [
  'replay_complete',
  'slow_client_warning',
  'client_evicted',
  'state_resync_required',
  'stream_error',
]
const REOPEN_MS = 3000

/**
 * @param {string} url
 * @param {{ onOpen(resumedFrom: string | undefined), onEvent(json: string, cursor: string, delivery: string),
 *   onControl(frame), onCursor(cursor: string), onLost(cursor: string | undefined, toldWhy: boolean), onGaveUp() }} handlers
 */
export function openStream(url, handlers) {
  let cursor
  let phase = 'connecting'
  let source
  let toldWhy = false

  function open(from) {
    source = new EventSource(from === undefined ? url : `${url}&lastEventId=${encodeURIComponent(from)}`)

    source.onopen = () => {
      // A client with a cursor gets a replay, and so does one without: it asks for what the ring retains.
      phase = 'replaying'
      toldWhy = false
      handlers.onOpen(cursor)
    }

    source.onerror = () => {
      const was = phase
      phase = 'lost'
      if (source.readyState === EventSource.CLOSED) {
        handlers.onGaveUp()
        setTimeout(() => open(cursor), REOPEN_MS)
      } else if (was === 'replaying' || was === 'live') {
        // Further failures of the same outage bring nothing new.
        handlers.onLost(cursor, toldWhy)
      }
    }

    source.onmessage = ({ data, lastEventId }) => {
      cursor = lastEventId
      handlers.onEvent(data, cursor, phase === 'replaying' ? 'replayed' : 'live')
    }

    for (const type of CONTROL_TYPES) {
      source.addEventListener(type, ({ data }) => {
        const frame = JSON.parse(data)
        const liveAgain = type === 'replay_complete' || frame.data.reason === 'invalid_cursor'
        if (liveAgain) phase = 'live'
        toldWhy ||= type === 'client_evicted' || type === 'stream_error'
        handlers.onControl(frame)
      })
    }

    source.addEventListener('cursor', ({ lastEventId }) => {
      cursor = lastEventId
      handlers.onCursor(cursor)
    })
  }

  open()
  return {
    waiting: 'The browser waits a moment and sends its cursor.',
    /** `connecting`, `replaying`, `live` or `lost`. */
    get phase() {
      return phase
    },
    get cursor() {
      return cursor
    },
  }
}
