/**
 * Fences: events that say "every reply sent so far is before this". A client that has seen one has the replies.
 *
 * Each is told by a name that its session drew, since several sessions, in several processes, may share a bus. Where it
 * stands is learnt from whichever comes first: what `publish` returned, or the event itself. On an asynchronous bus a
 * client can have seen the event before `publish` has resolved.
 */

import type { BusEvent, BusLike } from '../index.ts'
import type { ReplyQueue } from './replies.ts'

const FENCE = 'resumable_bus.reply_fence'

interface FenceData {
  readonly by: string
  readonly sending: number
}

export class Fences {
  readonly #bus: BusLike
  readonly #replies: ReplyQueue
  readonly #name = `${crypto.getRandomValues(new BigUint64Array(1))[0]}`

  constructor(bus: BusLike, replies: ReplyQueue) {
    this.#bus = bus
    this.#replies = replies
  }

  /** Behind a reply that was sent. Nobody waits for it: a bus that cannot publish leaves the reply without a fence. */
  raise(sending: number): void {
    const data: FenceData = { by: this.#name, sending }
    const raised = (event: BusEvent | undefined) => {
      if (event) this.#replies.fenced(sending, { epoch: this.#bus.epoch, id: event.id })
    }
    const published = this.#bus.publish({ type: FENCE, data })
    if (isPromise(published)) published.then(raised, ignore)
    else raised(published)
  }

  /** An event has come by on a bus of that epoch. */
  saw(fence: BusEvent, epoch: string): void {
    const { by, sending } = (fence.data ?? {}) as Partial<FenceData>
    if (by === this.#name) this.#replies.fenced(sending as number, { epoch, id: fence.id })
  }
}

/** Any session's. */
export function isFence(event: { readonly type: string }): boolean {
  return event.type === FENCE
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}

function ignore(): void {}
