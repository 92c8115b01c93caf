/** JSON-RPC over a pair of message streams. */

const METHOD_NOT_FOUND = { code: -32601, message: 'Method not found' }

/**
 * `onRequest(method, params, signal)` returns the result or a promise of it; undefined says that nobody knows the method.
 * The signal aborts where the other side takes its request back.
 */
export function createPeer({ readable, writable }, { onNotification, onRequest }) {
  const writer = writable.getWriter()
  /** Own requests by id, until their answers. */
  const waiting = new Map()
  /** The other side's, by id, until ours. */
  const asked = new Map()
  let ids = 0

  const say = (message) => writer.write({ jsonrpc: '2.0', ...message })

  async function answer({ id, method, params }) {
    const controller = new AbortController()
    asked.set(id, controller)
    const result = await onRequest(method, params, controller.signal)
    asked.delete(id)
    await say(result === undefined ? { id, error: METHOD_NOT_FOUND } : { id, result })
  }

  function hear(message) {
    if (message.method === undefined) {
      const { resolve, reject } = waiting.get(message.id) ?? {}
      waiting.delete(message.id)
      if (message.error) reject?.(Object.assign(new Error(message.error.message), message.error))
      else resolve?.(message.result)
    } else if ('id' in message) answer(message).catch(() => {})
    else if (message.method === '$/cancel_request') asked.get(message.params?.requestId)?.abort()
    else onNotification(message.method, message.params)
  }

  async function listen() {
    try {
      for await (const message of readable) hear(message)
      throw new Error('The stream is over.')
    } catch (error) {
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
      throw error
    }
  }

  const over = listen()
  over.catch(() => {})

  return {
    /** Rejects once the stream is over. */
    over,
    request(method, params) {
      ids += 1
      const answered = new Promise((resolve, reject) => waiting.set(ids, { resolve, reject }))
      say({ id: ids, method, params }).catch(() => {})
      return answered
    },
    notify: (method, params) => say({ method, params }).catch(() => {}),
  }
}
