import { check, wrongType } from '../internal/check.ts'
import { after } from '../internal/timer.ts'
import { closedError, type TransportStream } from '../internal/transport.ts'

/** What both the `ws` package's socket and the platform's `WebSocket` have. */
export interface WebSocketLike {
  readonly readyState: number
  readonly bufferedAmount?: number
  send(data: string, sent?: (error?: Error | null) => void): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'open' | 'close' | 'error', listener: () => void): void
}

const OPEN = 1

// What the platform's socket may hold before a send waits, and how often it is looked at: it announces nothing.
const MAX_BUFFERED = 65_536
const LOOK_MS = 20

const NORMAL_CLOSURE = 1000
// The first code that applications may use (RFC 6455, section 7.4.2); a reason has 123 bytes of room (5.5).
const TOLD_WHY = 4000
const MAX_REASON = 123

/**
 * A WebSocket as the transport of a session: each message as one text of JSON, without its id, so a client that comes back
 * has no cursor. `send` settles when the socket has got rid of the message (`ws`) or holds little (platform), and rejects
 * with `code: 'transport_closed'` on a socket that is over. A reason goes into the close frame, under code 4000.
 * Throws `TypeError` for what is no socket.
 */
export function wsTransport(socket: WebSocketLike): TransportStream {
  for (const name of ['send', 'close', 'addEventListener'] as const) {
    if (typeof check('socket', socket, 'object')[name] !== 'function')
      throw wrongType('socket', 'a WebSocket', socket)
  }
  /** `ws` calls back as a message leaves; the platform's `send` takes no callback. */
  const tells = typeof (socket as { on?: unknown }).on === 'function'
  let isClosed = false
  // Also one that somebody else has begun to close: the platform's drops what it is given from then on, without a word.
  const isOver = () => isClosed || socket.readyState > OPEN
  /** The ends of what waits for the socket. */
  const waiting = new Set<() => void>()
  const wakeAll = () => {
    for (const wake of waiting) wake()
    waiting.clear()
  }
  const closed = new Promise<void>((resolve) => {
    const over = () => {
      isClosed = true
      wakeAll()
      resolve()
    }
    if (isOver()) return over()
    socket.addEventListener('open', wakeAll)
    socket.addEventListener('close', over)
    // `close` follows; without a listener `ws` throws.
    socket.addEventListener('error', () => {
      isClosed = true
    })
  })

  /** Settles with `begin`'s callback, or as the socket opens or closes. */
  const waited = (begin: (done: () => void) => void) =>
    new Promise<void>((resolve) => {
      const done = () => {
        waiting.delete(done)
        resolve()
      }
      waiting.add(done)
      begin(done)
    })

  const sendText = async (text: string): Promise<void> => {
    if (socket.readyState < OPEN) await waited(() => {})
    if (isOver()) throw closedError()
    if (!tells) {
      socket.send(text)
      while (!isOver() && (socket.bufferedAmount ?? 0) > MAX_BUFFERED)
        await waited((done) => after(LOOK_MS, done))
      if (isOver()) throw closedError()
      return
    }
    let left = false
    await waited((done) =>
      socket.send(text, (error) => {
        left = !error
        done()
      }),
    )
    if (!left) throw closedError()
  }

  return {
    send: async (message) => sendText(JSON.stringify(message) ?? 'null'),
    close(reason) {
      if (isOver()) return
      isClosed = true
      if (reason === undefined) socket.close(NORMAL_CLOSURE)
      else socket.close(TOLD_WHY, clipped(reason))
    },
    get isClosed() {
      return isOver()
    },
    closed,
  }
}

/** As much as there is room for, between characters. */
function clipped(reason: string): string {
  return reason.slice(0, new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON)).read)
}
