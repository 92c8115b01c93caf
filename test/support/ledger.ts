/**
 * The books of one client over any number of streams: what it received and what it was told is lost must be, together,
 * every id once and in order.
 */

import { type Frame, isControlFrame } from '../../src/index.ts'

export interface Cursor {
  readonly lastEventId: number
  readonly epoch: string
}

export class Ledger {
  #epoch: string
  #expected: number
  #replayed: number | undefined
  #lastReplayed: number | undefined
  readonly #resyncAnywhere: boolean

  /** Opens the books in front of `firstId`. With `resyncAnywhere` a gap may be told in the middle of a stream, too. */
  constructor(epoch: string, firstId: number, { resyncAnywhere = false } = {}) {
    this.#epoch = epoch
    this.#expected = firstId
    this.#resyncAnywhere = resyncAnywhere
  }

  /** Where the client goes on. */
  get cursor(): Cursor {
    return { lastEventId: this.#expected - 1, epoch: this.#epoch }
  }

  /** A new stream begins; with a replay, exactly one `replay_complete` is due before any live event. */
  opened(options: { replay: boolean }): void {
    this.#replayed = options.replay ? 0 : undefined
    this.#lastReplayed = undefined
  }

  /** Enters one frame; throws where it contradicts the books. */
  enter(frame: Frame): void {
    if (!isControlFrame(frame)) this.#delivered(frame.id as number)
    else if (frame.type === 'state_resync_required') this.#lost(frame.data)
    else if (frame.type === 'replay_complete') this.#replayComplete(frame.data)
    else if (frame.type === 'client_evicted') this.#evicted(frame.data.droppedAfter)
  }

  #delivered(id: number): void {
    if (id !== this.#expected) throw new Error(`event ${id} came where ${this.#expected} was due`)
    this.#expected++
    if (this.#replayed === undefined) return
    this.#replayed++
    this.#lastReplayed = id
  }

  #lost(data: {
    reason: string
    lastDeliveredId?: number
    earliestAvailableId: number
    epoch: string
  }): void {
    if (this.#replayed !== 0 && !this.#resyncAnywhere) {
      throw new Error(`${data.reason} announced in the middle of a stream`)
    }
    if (data.lastDeliveredId !== this.#expected - 1) {
      throw new Error(`told to have ${data.lastDeliveredId}, has ${this.#expected - 1}`)
    }
    const reset = data.reason === 'epoch_reset'
    if (reset !== (data.epoch !== this.#epoch)) throw new Error(`${data.reason} in epoch ${data.epoch}`)
    if (!reset && data.earliestAvailableId <= this.#expected)
      throw new Error('a gap was announced that is none')
    this.#epoch = data.epoch
    this.#expected = data.earliestAvailableId
  }

  #replayComplete(data: { replayedCount: number; lastReplayedEventId?: number }): void {
    if (data.replayedCount !== this.#replayed || data.lastReplayedEventId !== this.#lastReplayed) {
      throw new Error(
        `replay of ${this.#replayed} up to ${this.#lastReplayed} told as ${JSON.stringify(data)}`,
      )
    }
    this.#replayed = undefined
  }

  #evicted(droppedAfter: number): void {
    if (droppedAfter !== this.#expected - 1) {
      throw new Error(`dropped after ${droppedAfter}, has ${this.#expected - 1}`)
    }
  }

  /** Throws unless every id up to `lastId` of `epoch` is accounted for. */
  close(epoch: string, lastId: number): void {
    if (epoch !== this.#epoch) throw new Error(`the books are in epoch ${this.#epoch}, the bus in ${epoch}`)
    if (lastId !== this.#expected - 1)
      throw new Error(`${lastId} published, ${this.#expected - 1} accounted for`)
  }
}
