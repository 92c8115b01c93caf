/** The server's own state, as a client loads it: what all events so far come to, and the cursor of the last one. */
import { setTimeout as delay } from 'node:timers/promises'
import { formatCursor } from 'resumable-bus/last-event-id'
import { applyEvent, emptyState } from './public/reducer.js'

/** Slow, as a large state would be: long enough to see what a gate holds meanwhile. */
const READ_MS = 900
const SEND_MS = 900

/** Outlives its buses, as a database would. */
export class Snapshots {
  #state = emptyState()

  get total() {
    return this.#state.total
  }

  add(event) {
    applyEvent(this.#state, event)
  }

  /**
   * Taken in the middle of the wait, so that of what a gate holds a part is in it and a part is not.
   *
   * @param {() => { epoch: string, lastEventId: number }} currentBus
   * @returns {Promise<string>} `{ cursor, total, kinds }`
   */
  async take(currentBus) {
    await delay(READ_MS, undefined, { ref: false })
    const { epoch, lastEventId } = currentBus()
    const json = JSON.stringify({ cursor: formatCursor({ epoch, id: lastEventId }), ...this.#state })
    await delay(SEND_MS, undefined, { ref: false })
    return json
  }
}
