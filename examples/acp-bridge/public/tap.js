/**
 * A `fetch` that tells what goes over the wire. The client needs none of it; the page shows it: each request and how it
 * was answered, where a stream was lost, and how much of a new one was the replay.
 */

const SESSION = 'acp-session-id'

/**
 * - `onAnswer({ name, status, cursor })`, with status 0 where none came
 * - `onLost()`: the session's stream broke off
 * - `onReturn(cursor)`: it is back, and what comes now is replayed, until
 * - `onReplayed(count)`: so many messages were
 */
export function createTap({ onAnswer, onLost, onReturn, onReplayed }) {
  let wasOpen = false

  return async (url, init) => {
    const headers = new Headers(init.headers)
    const name = nameOf(init, headers)
    const cursor = headers.get('last-event-id') ?? undefined
    try {
      // The last request of a page that is closed is sent behind its back.
      const response = await fetch(url, { ...init, keepalive: init.method === 'DELETE' })
      onAnswer({ name, status: response.status, cursor })
      const isSession =
        response.ok && response.body !== null && init.method !== 'POST' && headers.has(SESSION)
      if (!isSession) return response
      if (wasOpen) onReturn(cursor)
      const body = listenedTo(response.body, init.signal, wasOpen ? onReplayed : () => {}, onLost)
      wasOpen = true
      return new Response(body, response)
    } catch (error) {
      if (!init.signal?.aborted) onAnswer({ name, status: 0, cursor })
      throw error
    }
  }
}

function nameOf({ method = 'GET', body }, headers) {
  if (method === 'POST') return `POST ${JSON.parse(body).method ?? 'the answer'}`
  if (method === 'GET') return headers.has(SESSION) ? 'GET the session' : 'GET the connection'
  return method
}

function listenedTo(body, signal, onReplayed, onLost) {
  const reader = body.getReader()
  const count = countReplay(onReplayed)
  const lost = () => {
    if (!signal?.aborted) onLost()
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          lost()
          controller.close()
          return
        }
        count(value)
        controller.enqueue(value)
      } catch (error) {
        lost()
        controller.error(error)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** Events with an id and data, up to the comment that ends a replay. */
function countReplay(onReplayed) {
  const decoder = new TextDecoder()
  let rest = ''
  let hasId = false
  let count = 0
  let isOver = false
  return (bytes) => {
    if (isOver) return
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line === '') hasId = false
      else if (line.startsWith('id:')) hasId = true
      else if (line.startsWith('data: ') && hasId) count += 1
      else if (line === ': replay_complete') {
        isOver = true
        onReplayed(count)
        return
      }
    }
  }
}
