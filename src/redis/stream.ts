/** The stream of one bus: what is asked of Redis, and what it answers. The atomic part is `append.lua` and `stream.lua`. */

import type { BusEvent } from '../core/event.ts'
import { freshEpoch } from '../core/options.ts'
import { stamp } from '../internal/kept.ts'
import type { Link } from './link.ts'
import type { CheckedRedisOptions } from './options.ts'
import { PageSize } from './page-size.ts'
import type { Entry } from './reader.ts'

/** Entries that the stream keeps beyond the ring, for nodes that are a moment behind. */
const SLACK = 1000
/** An open bus looks at its stream each second, which may come late. */
const LEAST_TTL_MS = 3000

/** A stream as it was when it was looked at. */
export interface Known {
  readonly epoch: string
  /** The oldest id that is retained by the rules of the bus. */
  readonly earliestAvailableId: number
  /** The oldest entry that is there. */
  readonly firstId: number
  /** The oldest within the byte cap. */
  readonly retainedId: number
  readonly lastEventId: number
  readonly ended: boolean
}

/** What a node has read of a stream; `mark` is the last event's, empty where that was not read. */
export interface Place {
  readonly epoch: string
  readonly head: number
  readonly mark: string
}

/** Events that are appended together. */
export interface Step {
  readonly epoch: string
  readonly mark: string
  /** The mark of the step that must be in the stream for this one to be taken, behind the id `floor`; empty for none. */
  readonly before: string
  readonly floor: number
  readonly texts: readonly string[]
}

/** The last id; or else the stream is another one, has ended, or lacks the step before. */
export type Appended = number | 'epoch' | 'ended' | 'early'

export class RedisStream {
  readonly key: string
  readonly #link: Link
  readonly #ringSize: number
  readonly #cap: number
  readonly #ttlMs: number
  readonly #pageSize = new PageSize()

  constructor(link: Link, { key, ringSize, maxRingBytes, ttlMs }: CheckedRedisOptions) {
    this.key = key
    this.#link = link
    this.#ringSize = ringSize
    // Redis is told 0 for "none".
    this.#cap = maxRingBytes === Infinity ? 0 : maxRingBytes
    // More than Redis can add to its clock is never either way.
    this.#ttlMs = ttlMs && Math.min(Math.max(ttlMs, LEAST_TTL_MS), Number.MAX_SAFE_INTEGER)
  }

  /** How the stream stands; it is made, with a fresh epoch, where it is not there or not the one where `place` is. */
  async look({ epoch, head, mark }: Place): Promise<Known> {
    const fresh = freshEpoch()
    const reply = await this.#link.run(
      'stream',
      this.key,
      'look',
      fresh,
      epoch,
      head,
      mark,
      this.#ttlMs,
      this.#cap,
    )
    const [now, firstId, lastEventId, ended, retainedId] = reply as [string, number, number, number, number]
    const earliestAvailableId = Math.max(retainedId, lastEventId + 1 - this.#ringSize)
    return { epoch: now, earliestAvailableId, firstId, retainedId, lastEventId, ended: ended === 1 }
  }

  /** Entries behind `id`, up to `last`. */
  async page(id: number, last: number): Promise<Entry[]> {
    const range = [`0-${id + 1}`, `0-${last}`]
    const count = this.#pageSize.count
    const entries = (await this.#link.command('XRANGE', this.key, ...range, 'COUNT', count)) as Entry[]
    this.#pageSize.saw(entries)
    return entries
  }

  /** Appends events in one step; the id of the last one, or why there is none. */
  async append({ epoch, mark, before, floor, texts }: Step): Promise<Appended> {
    const limits = [this.#ringSize + SLACK, this.#ttlMs, this.#cap]
    const args = [epoch, ...limits, mark, before, floor, ...texts]
    return (await this.#link.run('append', this.key, ...args)) as Appended
  }

  /** Records the end; twice is once. */
  async end(epoch: string): Promise<'epoch' | 'ended'> {
    return (await this.#link.run('stream', this.key, 'end', epoch)) as 'epoch' | 'ended'
  }
}

/** The event's id, of an entry that is one. */
export function numberOf(entryId: string): number {
  return Number(entryId.slice(2))
}

/** An event as every node sees it: what JSON made of it. */
export function eventOf(id: number, text: string): BusEvent {
  return Object.freeze(stamp(JSON.parse(`{"id":${id},${text.slice(1)}`)))
}

/** The same of an entry that somebody else may have written; none where no bus did. */
export function eventAt(id: number, text: string): BusEvent | undefined {
  try {
    const event = eventOf(id, text)
    return event.id === id && typeof event.type === 'string' ? event : undefined
  } catch {
    return undefined
  }
}
