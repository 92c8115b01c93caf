/** A subscriber whose log is elsewhere: its replay may have to wait, and its ids may begin anew. */

import { controlFrame } from '../core/event.ts'
import type { Hub } from '../core/hub.ts'
import type { CheckedSubscribeOptions } from '../core/options.ts'
import { BusSubscription } from '../core/subscription.ts'
import type { Restart } from './tail.ts'

export class RedisSubscription extends BusSubscription {
  readonly #hub: Hub
  /** It is live, and not only listed. */
  #isLive: boolean

  /** Live from the event behind `head`, or, where that is not known yet, from `start` on. */
  constructor(hub: Hub, options: CheckedSubscribeOptions, head = Infinity) {
    super(hub, options, head)
    this.#hub = hub
    this.#isLive = head < Infinity
  }

  override start(cursor: number, head: number): void {
    this.#isLive = head < Infinity
    super.start(cursor, head)
  }

  /** Told in its place that the ids go on elsewhere. One that waits for its start is told by its replay. */
  restart(data: Restart): void {
    if (!this.#isLive) return
    const { lastDeliveredId } = this
    this.start(data.earliestAvailableId - 1, data.earliestAvailableId - 1)
    // What it has not read yet comes first.
    this.lastDeliveredId = lastDeliveredId
    const resync = controlFrame('state_resync_required', data)
    this.forcePush(resync)
    this.#hub.announce('resyncs', resync)
  }

  /** Its replay has something ready. */
  ready(): void {
    this.wake()
  }
}
