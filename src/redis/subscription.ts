/** A subscriber whose log is elsewhere: its replay may have to wait, and its ids may begin anew. */

import { controlFrame } from '../core/event.ts'
import type { Hub } from '../core/hub.ts'
import type { CheckedSubscribeOptions } from '../core/options.ts'
import { BusSubscription } from '../core/subscription.ts'
import type { Restart } from './listener.ts'

export class RedisSubscription extends BusSubscription {
  /** It is given what comes, from a place that is known. */
  isLive: boolean
  readonly #hub: Hub
  /** Its cursor was found in the stream, or it has none. */
  #isSettled: boolean

  /** Live from the event behind `head`, unless its cursor is ahead of that. */
  constructor(hub: Hub, options: CheckedSubscribeOptions, head: number) {
    const { lastEventId = 0, last } = options
    super(hub, options, lastEventId > head ? Infinity : head)
    this.#hub = hub
    this.isLive = lastEventId <= head
    this.#isSettled = options.lastEventId === undefined && last === undefined
  }

  /** Its replay begins behind `cursor`; where it is not live yet, that is from the event behind `head` on. */
  settle(cursor: number, head: number): void {
    this.#isSettled = true
    if (this.isLive) this.lastDeliveredId = cursor
    else this.start(cursor, head)
    this.isLive = true
  }

  /**
   * Told in its place that the ids go on elsewhere. One that waits for its replay and has been given nothing yet is judged
   * in the new stream instead.
   */
  restart(data: Restart): void {
    const { lastDeliveredId, queued } = this
    if (!this.#isSettled && queued === 0) {
      this.isLive = false
      this.start(lastDeliveredId, Infinity)
      return
    }
    const resync = controlFrame('state_resync_required', data)
    this.start(data.earliestAvailableId - 1, data.earliestAvailableId - 1)
    // What it has not read yet comes first.
    this.lastDeliveredId = lastDeliveredId
    this.forcePush(resync)
    this.#hub.announce('resyncs', resync)
  }

  /** Its replay has something ready. */
  ready(): void {
    this.wake()
  }
}
