/** Text of an event stream as a conforming parser reads it. */

import { createParser } from 'eventsource-parser'

export interface Block {
  id?: string
  event?: string
  data: string
}

export interface Reading {
  /** What a client is handed: blocks with a data line. */
  events: Block[]
  /** Every id that a block brought, also one without a data line. */
  ids: string[]
  retries: number[]
  comments: string[]
  /** Fields that are none, and retry times that are no number. */
  errors: string[]
}

/** Reads whole text, or text in chunks. */
export function read(...chunks: string[]): Reading {
  const reading: Reading = { events: [], ids: [], retries: [], comments: [], errors: [] }
  const parser = createParser({
    onEvent: ({ id, event, data }) =>
      reading.events.push({ ...(id !== undefined && { id }), ...(event !== undefined && { event }), data }),
    onId: (id) => reading.ids.push(id),
    onRetry: (ms) => reading.retries.push(ms),
    onComment: (comment) => reading.comments.push(comment),
    onError: (error) => reading.errors.push(error.message),
  })
  for (const chunk of chunks) parser.feed(chunk)
  return reading
}

/** The one event of a block; anything else in it, or beside it, is an error. */
export function onlyEvent(text: string): Block {
  const { events, errors, comments } = read(text)
  const [event] = events
  if (event === undefined || events.length > 1 || errors.length > 0 || comments.length > 0) {
    throw new Error(`expected one event, got ${JSON.stringify({ events, errors, comments })}`)
  }
  return event
}

/** An object that converts to one string after the other, and counts how often it was asked. */
export function shifty(first: string, ...later: string[]): { toString(): string; asked: number } {
  return {
    asked: 0,
    toString() {
      this.asked++
      return this.asked === 1 ? first : (later[this.asked - 2] ?? later.at(-1) ?? first)
    },
  }
}
