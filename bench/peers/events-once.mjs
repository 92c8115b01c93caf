/** Request and reply with Node's own emitter: `events.once`, prepared before the request as ours is. */
import { EventEmitter, once } from 'node:events'

export function createRequests({ timeoutMs }) {
  const emitter = new EventEmitter()
  emitter.on('request', (data) => emitter.emit('response', data))
  return async (data) => {
    const abort = timeoutMs === undefined ? undefined : new AbortController()
    const timer = abort && setTimeout(() => abort.abort(), timeoutMs)
    const reply = once(emitter, 'response', abort && { signal: abort.signal })
    emitter.emit('request', data)
    const [answer] = await reply
    clearTimeout(timer)
    return answer
  }
}
