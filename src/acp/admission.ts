/** Which messages of a client are taken in, judged before the agent hears of them. */

import { isRequest, isResponse, type Message, sessionOf } from './messages.ts'
import type { BridgeSettings } from './options.ts'
import type { Questions } from './permissions.ts'
import type { Requests } from './requests.ts'
import type { Sessions } from './sessions.ts'
import { respond } from './wire.ts'

/** Undefined: it was taken in before, and is not again. */
export type Verdict = 'taken' | undefined | Response

/** Methods that are about a session, whatever their `params` say. */
const OF_A_SESSION = /^session\/(cancel|close|delete|fork|load|prompt|resume|set_config_option|set_model?)$/

export function createAdmission(
  requests: Requests,
  questions: Questions,
  sessions: Sessions,
  { maxIdLength, maxPendingRequests }: BridgeSettings['limits'],
) {
  const isTooLong = (id: unknown) => typeof id === 'string' && id.length > maxIdLength

  /** Only the first answer to an open question means anything to the agent. */
  const admitAnswer = (message: Message, header: string | undefined): Verdict => {
    const question = questions.get(message.id)
    if (!question) return undefined
    if (question.session !== undefined && header !== question.session) return otherSession()
    questions.settle(message.id)
    return 'taken'
  }

  const admitCall = (message: Message, header: string | undefined): Verdict => {
    const named = sessionOf(message)
    const isAstray =
      named === undefined ? header === undefined && OF_A_SESSION.test(`${message.method}`) : named !== header
    if (isAstray) return otherSession()
    if (isTooLong(header) || isTooLong(message.id)) return tooLong()
    if (!isRequest(message)) return 'taken'
    if (requests.isKnown(message.id)) return undefined
    if (requests.size >= maxPendingRequests) return tooMany()
    // Its answer needs a stream to go to.
    if (header !== undefined && !sessions.begin(header)) return tooManySessions()
    requests.accept(message, header)
    return 'taken'
  }

  return {
    isTooLong,
    /** `header`: the session that the request names. */
    admit: (message: Message, header: string | undefined): Verdict =>
      (isResponse(message) ? admitAnswer : admitCall)(message, header),
  }
}

const otherSession = () => respond(400, 'Missing or other Acp-Session-Id')

// No 429, which a client takes for "later": room is made by what would have to wait behind it.
export const tooManySessions = () => respond(409, 'Too many sessions')
export const tooMany = () => respond(429, 'Too many requests')
export const tooLong = () => respond(400, 'The id is too long')
