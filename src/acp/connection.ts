/**
 * One connection: a client, its agent, the connection's own stream and those of its sessions.
 *
 * Calls of the agent go out on the stream of the session that they name, answers on the stream that their request came
 * from. The connection ends in one place, `end`.
 */

import { after } from '../internal/timer.ts'
import { type Cursor, parseCursor } from '../last-event-id/index.ts'
import type { SessionRegistry } from '../session/index.ts'
import { createAdmission, tooLong, tooMany, tooManySessions } from './admission.ts'
import { linkTo } from './agent-link.ts'
import type { AcpDiagnostic, ConnectionEnd } from './diagnostics.ts'
import {
  errorResponse,
  isMessage,
  isRequest,
  isResponse,
  keyOf,
  type Message,
  type MessageStream,
  notification,
  sessionInResult,
  sessionOf,
  unanswered,
} from './messages.ts'
import type { BridgeSettings } from './options.ts'
import { createQuestions } from './permissions.ts'
import { createRequests, type Route } from './requests.ts'
import { createSessions } from './sessions.ts'
import { type AcpStream, openStream } from './stream.ts'
import { farewell } from './transport.ts'
import { ENDS_SESSION, respond, SESSION_EXPIRED } from './wire.ts'

const AGENT_GONE = 'the agent is gone'

const ofSession = (session: Route) => (session === undefined ? {} : { sessionId: session })

export const unknownConnection = () => respond(404, 'Unknown Acp-Connection-Id')

export interface Connection {
  readonly owner: string | undefined
  /** Gives the agent its first message; the answer, which no stream carries. Where none comes, the connection ends. */
  initialize(message: Message): Promise<Message>
  /** Takes a message in; undefined once the agent has it, or had it before. */
  post(message: Message, sessionId: string | undefined): Promise<Response | undefined>
  /** The stream of a session, or the connection's own. */
  open(request: Request, sessionId: string | undefined): Response
  end(reason: ConnectionEnd): void
  readonly stats: { readonly sessions: number; readonly streams: number; readonly pending: number }
}

export interface Surroundings {
  readonly settings: BridgeSettings
  readonly registry: SessionRegistry
  readonly report: (diagnostic: AcpDiagnostic) => void
  /** The connection is over; its agent is told as this is called. */
  readonly onEnd: () => void
}

export function createConnection(
  id: string,
  owner: string | undefined,
  agent: MessageStream,
  { settings, registry, report, onEnd }: Surroundings,
): Connection {
  const { limits, connectionGraceMs, permissionTimeoutMs } = settings
  const requests = createRequests()
  let state: 'open' | 'draining' | 'over' = 'open'
  /** Takes the answer to `initialize`, while that waits. */
  let greeted: { readonly key: string; resolve(answer: Message): void } | undefined
  /** Runs while nobody has the connection's own stream. */
  let stopGrace = () => {}
  /** It ran out, and the connection lives for its sessions alone. */
  let isOverdue = false

  const questions = createQuestions(permissionTimeoutMs, (question, session, answer) => {
    report({ type: 'permission_timeout', ...ofStream(session) })
    tell(answer)
    streamOf(session)?.publish(notification('$/cancel_request', { requestId: question.id }))
  })

  const ofStream = (session: Route) => ({ connectionId: id, ...ofSession(session) })

  const isDue = (message: Message) => !isRequest(message) || questions.isOpen(message)

  const openFor = (session: Route, graceMs: number, onOver: (stream: AcpStream, reason?: string) => void) => {
    const tellOf = (type: 'stream_detached' | 'stream_reclaimed' | 'stream_replaced' | 'session_expired') =>
      report({ type, ...ofStream(session) })
    const name = session === undefined ? id : `${id}/${session}`
    const stream: AcpStream = openStream(registry, name, graceMs, settings, {
      named: ofSession(session),
      isDue,
      // An open question that has left the ring is asked again, or it would wait for ever. The client knows its id.
      onGap(earliest) {
        for (const question of questions.before(earliest, session)) isPublished(stream, question)
      },
      onDetach() {
        tellOf('stream_detached')
        if (session === undefined) startGrace()
      },
      onReclaim: () => tellOf('stream_reclaimed'),
      onReplace: () => tellOf('stream_replaced'),
      onExpire: () => tellOf('session_expired'),
      onClose: (reason) => onOver(stream, reason),
    })
    return stream
  }

  // Its time is the connection's, which has its sessions to think of.
  const own = openFor(undefined, Infinity, () => end('overflow'))

  const sessions = createSessions(limits, (session) =>
    openFor(session, settings.sessionGraceMs, (stream, reason) => {
      sessions.remove(session, stream)
      report({ type: 'session_closed', ...ofStream(session), ...(reason !== undefined && { reason }) })
      cancelTurn(session)
      endIfOverdue()
    }),
  )

  const { admit, isTooLong } = createAdmission(requests, questions, sessions, limits)

  const streamOf = (session: Route) => (session === undefined ? own : sessions.get(session))

  /** Nobody is there for the session any more: its turn stops, and its questions are answered in the client's place. */
  const cancelTurn = (session: string) => {
    if (requests.isPrompting(session)) tell(notification('session/cancel', { sessionId: session }))
    for (const answer of questions.giveUp(session)) tell(answer)
  }

  const startGrace = () => {
    stopGrace()
    isOverdue = false
    stopGrace = after(connectionGraceMs, () => {
      isOverdue = true
      endIfOverdue()
    })
  }

  const endIfOverdue = () => {
    if (isOverdue && sessions.size === 0) end(state === 'draining' ? 'agent_gone' : 'expired')
  }

  /** One message of the agent; a promise where the agent is to wait for its client. */
  const route = (message: unknown): Promise<void> | undefined => {
    if (state === 'over') return undefined
    if (!isMessage(message)) report({ type: 'message_dropped', connectionId: id })
    else if (isResponse(message)) answer(message)
    else return call(message)
    return undefined
  }

  const call = (message: Message) => {
    const session = sessionOf(message)
    const stream = session === undefined ? own : sessions.ofAgent(session)
    const asks = isRequest(message)
    if (asks) questions.ask(message, session)
    if (stream && isPublished(stream, message)) return stream.room()
    report({ type: 'message_dropped', ...ofStream(session) })
    if (!asks) return undefined
    questions.settle(message.id)
    tell(unanswered(message))
    return undefined
  }

  const isPublished = (stream: AcpStream, message: Message) => {
    const place = stream.publish(message)
    if (place !== undefined) questions.placed(message, place)
    return place !== undefined
  }

  const answer = (message: Message) => {
    if (greeted && greeted.key === keyOf(message.id)) {
      greeted.resolve(message)
      greeted = undefined
      return startGrace()
    }
    const pending = requests.settle(message.id)
    // An answer to nothing; one without an id is about something that the agent could not read.
    if (!pending && message.id !== null) return report({ type: 'message_dropped', connectionId: id })
    const named = sessionInResult(message)
    const routable = named === undefined || sessions.begin(named)
    const stream = streamOf(pending?.route)
    // A session that no stream could carry is not handed out.
    stream?.reply(routable ? message : errorResponse(message.id, 'no stream can carry it'))
    if (pending && ENDS_SESSION.test(`${pending.method}`) && 'result' in message) {
      sessions.get(pending.session ?? '')?.end()
    }
  }

  /** The agent is gone: clients may still have what is left, within the grace. */
  const drain = () => {
    if (state !== 'open') return
    if (greeted) return end('not_initialized')
    state = 'draining'
    for (const { id, route } of requests.drain()) streamOf(route)?.reply(errorResponse(id, AGENT_GONE))
    for (const stream of [...sessions.values(), own]) {
      stream.reply(farewell('gone'))
      stream.end()
    }
    startGrace()
  }

  const end = (reason: ConnectionEnd) => {
    if (state === 'over') return
    state = 'over'
    stopGrace()
    // As sessions close, their turns are cancelled; what the connection itself was asked is left.
    const code = reason === 'deleted' ? 'gone' : reason
    for (const stream of [...sessions.values(), own]) stream.close(code)
    for (const message of questions.giveUp()) tell(message)
    link.close()
    onEnd()
    report({ type: 'connection_closed', connectionId: id, reason })
  }

  const post = async (message: Message, header: string | undefined): Promise<Response | undefined> => {
    if (state !== 'open') return unheard(message)
    if (link.waiting.size >= limits.maxPendingRequests) return tooMany()
    const verdict = admit(message, header)
    if (verdict !== 'taken') return verdict
    return (await link.isTold(message)) ? undefined : unheard(message)
  }

  /**
   * The agent is gone, or takes nothing any more. No 404, for which a client gives up what it has not read yet; its streams
   * say what has become of the agent, so whatever nobody waits for is simply accepted.
   */
  const unheard = (message: Message) => {
    if (state === 'over') return unknownConnection()
    if (!isRequest(message)) return undefined
    requests.settle(message.id)
    return respond(409, AGENT_GONE)
  }

  const open = (request: Request, sessionId: string | undefined): Response => {
    if (state === 'over') return unknownConnection()
    if (isTooLong(sessionId)) return tooLong()
    let invalid: string | undefined
    const cursor = parseCursor(request.headers.get('last-event-id'), (value) => {
      invalid = value
      report({ type: 'invalid_last_event_id', ...ofStream(sessionId), value })
    })
    const stream = sessionId === undefined ? own : toOpen(sessionId, cursor)
    if (stream instanceof Response) return stream
    const response = stream.attach(request, cursor, invalid !== undefined)
    if (stream === own && own.isAttached && state === 'open') {
      stopGrace()
      isOverdue = false
    }
    return response
  }

  const toOpen = (sessionId: string, cursor: Cursor | undefined): AcpStream | Response => {
    const stream = sessions.get(sessionId)
    if (stream && (cursor || !stream.isEnded)) return stream
    if (cursor || state === 'draining') return respond(409, SESSION_EXPIRED)
    return sessions.begin(sessionId) ?? tooManySessions()
  }

  const link = linkTo(agent, route, drain)
  const { tell } = link
  report({ type: 'connection_opened', connectionId: id })

  return {
    owner,
    initialize: (message) =>
      new Promise((resolve) => {
        greeted = { key: keyOf(message.id), resolve }
        tell(message)
      }),
    post,
    open,
    end,
    get stats() {
      const streams = [own, ...sessions.values()].filter((stream) => stream.isAttached).length
      return { sessions: sessions.size, streams, pending: requests.size + questions.size }
    },
  }
}
