/** The client's end of ACP over HTTP: one pair of message streams over any number of requests. */

import type { SseHttpError } from '../client/errors.ts'
import { addressOf } from '../client/request.ts'
import type { SseStream } from '../client/stream.ts'
import { wrongType } from '../internal/check.ts'
import { openEvents } from './client-events.ts'
import { type AcpHttpStreamOptions, checkClientOptions } from './client-options.ts'
import { always, ifNeverSent, isHttpError, send } from './client-posts.ts'
import {
  errorResponse,
  isMessage,
  isRequest,
  isResponse,
  keyOf,
  type Message,
  type MessageStream,
  ownNotification,
  sessionInResult,
  sessionOf,
} from './messages.ts'
import { CONNECTION_HEADER, ENDS_SESSION, IN_A_HEADER, SESSION_EXPIRED, SESSION_HEADER } from './wire.ts'

// An agent may be a program that is fetched before it starts.
const INITIALIZE_MS = 120_000

/** A request of this side that waits for its answer. */
interface Asking {
  readonly id: unknown
  readonly session: string | undefined
  readonly method: unknown
  /** The server has it. */
  isTaken: boolean
}

/** A refusal of these means that the whole connection is unusable. */
const FATAL = new Set([401, 403, 404, 410])

/**
 * The client side of {@link createAcpBridge}, for `client().connect(stream)` of `@agentclientprotocol/sdk` or anything else
 * that speaks JSON-RPC. The first message must be `initialize`.
 *
 * - Both kinds of stream resume by themselves after any cut, from the first message on. Each message comes once, in the
 *   order of its stream; an answer behind everything that was sent before it. What left the server's ring is told by one
 *   notification `_resumable_bus/state_resync_required`.
 * - A message is taken (`write` resolves) once the server has it; until then it is sent again, also past a cut in front of
 *   the answer. Requests and answers are run once. A notification may arrive twice. `initialize` is sent again
 *   only where it surely reached nobody, which no browser can tell.
 * - A session that did not come back in time is told by `_resumable_bus/session_expired` with its `sessionId`, and its
 *   requests are answered with an error of `data.code: 'session_expired'`. Another session of the connection
 *   is not touched.
 * - A request that the server refuses is answered with an error of `data: { status, body }`. 401, 403, 404 and 410 fail both
 *   ends, as does any other refusal of what nobody waits for.
 * - The server is always read, however slowly `readable` is: what was not read is kept in memory.
 *
 * Closing or aborting either end, and the option `signal`, end the connection (DELETE) and all its streams.
 *
 * @throws TypeError or RangeError naming the option.
 */
export function createAcpHttpStream(url: string | URL, options: AcpHttpStreamOptions = {}): MessageStream {
  const settings = checkClientOptions(options)
  const address = addressOf(url, settings.fetch)
  /** Aborts whatever is on its way, and ends the streams. */
  const life = new AbortController()
  /** Requests of this side, by id, and those of the agent that this side has not answered. */
  const asking = new Map<string, Asking>()
  const asked = new Map<string, string | undefined>()
  const sessions = new Map<string, { readonly events: SseStream<Message>; readonly over: Promise<void> }>()
  let connectionId: string | undefined
  let ended: Promise<void> | undefined
  let incoming!: ReadableStreamDefaultController<Message>

  const put = (message: Message) => {
    if (!life.signal.aborted) incoming.enqueue(message)
  }

  /** The one end of the stream; without an error, what was received may still be read. */
  const end = async (error?: unknown) => {
    if (life.signal.aborted) return ended
    settings.signal?.removeEventListener('abort', close)
    life.abort(error ?? new Error('the stream is closed'))
    try {
      if (error === undefined) incoming.close()
      else incoming.error(error)
    } catch {
      // Whoever cancelled it has closed it.
    }
    ended = removed()
    return ended
  }

  /** Tells the server, who would find out by itself, too. */
  const removed = async () => {
    if (connectionId === undefined) return
    const init = { method: 'DELETE', headers: { [CONNECTION_HEADER]: connectionId } }
    const timeoutMs = Math.min(settings.connectTimeoutMs, 10_000)
    const sending = { mayRepeat: ifNeverSent, timeoutMs, signal: new AbortController().signal }
    await send(address, init, { ...settings, maxRetries: 0 }, sending).catch(() => {})
  }

  const headersOf = (session: string | undefined): Record<string, string> => ({
    [CONNECTION_HEADER]: connectionId as string,
    ...(session !== undefined && { [SESSION_HEADER]: session }),
  })

  const write = async (message: unknown): Promise<void> => {
    life.signal.throwIfAborted()
    if (!isMessage(message)) throw wrongType('message', 'a JSON-RPC message', message)
    try {
      await (connectionId === undefined ? initialize(message) : post(message))
    } catch (error) {
      void end(error)
      throw error
    }
  }

  const initialize = async (message: Message) => {
    if (message.method !== 'initialize' || !isRequest(message)) {
      throw new Error('initialize must come first')
    }
    const init = { method: 'POST', headers: {}, body: JSON.stringify(message) }
    const { signal } = life
    const sending = { mayRepeat: ifNeverSent, timeoutMs: INITIALIZE_MS, signal, wantsText: true }
    const { headers, text } = await send(address, init, settings, sending)
    connectionId = headers.get(CONNECTION_HEADER) || undefined
    const answer: unknown = connectionId && JSON.parse(text)
    if (!isMessage(answer) || keyOf(answer.id) !== keyOf(message.id)) {
      throw new Error('initialize was not answered')
    }
    void readOwn(openEvents(address, headersOf(undefined), settings, life.signal))
    put(answer)
  }

  const post = async (message: Message) => {
    const session = isResponse(message) ? asked.get(keyOf(message.id)) : sessionOf(message)
    /** Empty where nobody waits for an answer. */
    const key = isRequest(message) ? keyOf(message.id) : ''
    if (session !== undefined && !IN_A_HEADER.test(session)) {
      if (key) put(errorResponse(message.id, 'no stream can carry it'))
      return
    }
    if (key) asking.set(key, { id: message.id, session, method: message.method, isTaken: false })
    const init = { method: 'POST', headers: headersOf(session), body: JSON.stringify(message) }
    const sending = { mayRepeat: always, timeoutMs: settings.connectTimeoutMs, signal: life.signal }
    try {
      await send(address, init, settings, sending)
    } catch (error) {
      if (!isHttpError(error) || !isOfOne(error, key, session)) throw error
      if (asking.delete(key)) put(refusalOf(message.id, error))
      return
    } finally {
      if (isResponse(message)) asked.delete(keyOf(message.id))
    }
    const request = asking.get(key)
    if (request) request.isTaken = true
    // Behind the POST: it is what begins a session, and the stream starts before all that came since.
    if (key && session !== undefined) openSession(session)
  }

  /** Whether a refusal concerns the one request, or the one session, and nothing else. */
  const isOfOne = ({ status }: SseHttpError, key: string, session: string | undefined) =>
    !FATAL.has(status) && status !== 0 && (key !== '' || (status === 409 && session !== undefined))

  const receive = (message: Message, session?: string) => {
    const key = keyOf(message.id)
    if (isResponse(message) && key !== '' && message.id !== null) {
      const request = asking.get(key)
      // It came before: what a client has not confirmed is sent again.
      if (!asking.delete(key)) return
      const named = sessionInResult(message)
      if (named !== undefined) openSession(named)
      if (request?.session !== undefined && ENDS_SESSION.test(`${request.method}`) && 'result' in message) {
        sessions.get(request.session)?.events.close()
      }
    } else if (isRequest(message)) {
      if (asked.has(key)) return
      asked.set(key, session)
    }
    put(message)
  }

  const readOwn = async (events: SseStream<Message>) => {
    try {
      for await (const message of events) receive(message)
    } catch (error) {
      return end(error)
    }
    // What the agent said last may still be on its way in its sessions.
    await Promise.all([...sessions.values()].map(({ over }) => over))
    return end()
  }

  const openSession = (session: string) => {
    if (life.signal.aborted || sessions.has(session) || !IN_A_HEADER.test(session)) return
    const events = openEvents(address, headersOf(session), settings, life.signal)
    sessions.set(session, { events, over: readSession(session, events) })
  }

  const readSession = async (session: string, events: SseStream<Message>) => {
    let reason = 'the session is over'
    let code = 'gone'
    try {
      for await (const message of events) receive(message, session)
    } catch (error) {
      if (!isHttpError(error) || error.status !== 409) return end(error)
      reason = 'the session is expired'
      code = SESSION_EXPIRED
      put(ownNotification(SESSION_EXPIRED, { sessionId: session }))
    }
    sessions.delete(session)
    for (const [key, request] of asking) {
      // One that is still on its way begins the session anew.
      if (request.session !== session || !request.isTaken) continue
      asking.delete(key)
      put(errorResponse(request.id, reason, { code, sessionId: session }))
    }
  }

  const readable = new ReadableStream<Message>({
    start(controller) {
      incoming = controller
    },
    cancel: () => end(),
  })

  const close = () => end()

  if (settings.signal?.aborted) void close()
  else settings.signal?.addEventListener('abort', close)

  const writable = new WritableStream({
    // Its own `abort` waits for the write that is under way, which may be tried again for ever.
    start: ({ signal }) => signal?.addEventListener('abort', close),
    write,
    close,
    abort: close,
  })
  return { readable, writable }
}

/** What the sender of a refused request gets for an answer. */
function refusalOf(id: unknown, { message, status, body }: SseHttpError): Message {
  return errorResponse(id, message, { status, body })
}
