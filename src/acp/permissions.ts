/**
 * What the agent asks its client (permissions, files, terminals), from the question to its one answer.
 *
 * A question is asked again only while it waits: a replay of one that was answered says nothing to the client, and a
 * second answer says nothing to the agent. So the memory is that of the agent's open questions, however long the replay.
 */

import { after } from '../internal/timer.ts'
import { keyOf, type Message, unanswered } from './messages.ts'
import type { Route } from './requests.ts'

interface Question {
  readonly message: Message
  readonly session: Route
  readonly stopTimer: () => void
  /** The id under which its stream replays it. */
  place: number | undefined
}

export interface Questions {
  readonly size: number
  /** The agent asks. A second question of the same id takes the place of the first. */
  ask(message: Message, session: Route): void
  /** Whether this very question waits for its answer. */
  isOpen(message: Message): boolean
  /** It was published under this id. */
  placed(message: Message, place: number): void
  /** Those of a session that no replay brings any more: published before `place`. */
  before(place: number, session: Route): Message[]
  get(id: unknown): { readonly session: Route } | undefined
  /** The question of that id is answered. */
  settle(id: unknown): void
  /** Answers, in the client's place, what waits in a session, or all that waits. */
  giveUp(session?: string): Message[]
}

/**
 * `permissionTimeoutMs` after a permission was asked for, `onTimeout` gets the question and the answer in the user's place;
 * `Infinity` is never. The time runs on while nobody is there to be asked.
 */
export function createQuestions(
  permissionTimeoutMs: number,
  onTimeout: (question: Message, session: Route, answer: Message) => void,
): Questions {
  const open = new Map<string, Question>()

  const find = (id: unknown) => open.get(keyOf(id))

  const take = (id: unknown) => {
    find(id)?.stopTimer()
    open.delete(keyOf(id))
  }

  return {
    get size() {
      return open.size
    },
    ask(message, session) {
      const { id } = message
      take(id)
      const ms = message.method === 'session/request_permission' ? permissionTimeoutMs : Infinity
      const stopTimer = after(ms, () => {
        take(id)
        onTimeout(message, session, unanswered(message))
      })
      open.set(keyOf(id), { message, session, stopTimer, place: undefined })
    },
    placed(message, place) {
      const question = find(message.id)
      if (question) question.place = place
    },
    before: (place, session) =>
      [...open.values()]
        .filter((one) => one.session === session && one.place !== undefined && one.place < place)
        .map(({ message }) => message),
    isOpen: (message) => find(message.id)?.message === message,
    get: find,
    settle: take,
    giveUp(session) {
      const answers: Message[] = []
      for (const { message, session: asked } of open.values()) {
        if (session !== undefined && asked !== session) continue
        take(message.id)
        answers.push(unanswered(message))
      }
      return answers
    },
  }
}
