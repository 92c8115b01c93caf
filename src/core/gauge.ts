/**
 * When a slow subscriber is warned: once as its backlog rises to 75 % of a cap, and again only after it was at or below
 * 37.5 % of each. The gap between the two keeps a reader that wavers around one line from being warned at every event.
 */
export class Gauge {
  readonly #maxQueued: number
  readonly #maxBytes: number
  #armed = true

  constructor(maxQueued: number, maxBytes: number) {
    this.#maxQueued = maxQueued
    this.#maxBytes = maxBytes
  }

  /** Takes the backlog before a push: the least that it has been since the push before. */
  drained(queued: number, bytes: number): void {
    if (!this.#armed) this.#armed = queued <= this.#maxQueued * 0.375 && bytes <= this.#maxBytes * 0.375
  }

  /** Takes the backlog after a push; true where a warning is due. */
  risen(queued: number, bytes: number): boolean {
    if (!this.#armed || (queued < this.#maxQueued * 0.75 && bytes < this.#maxBytes * 0.75)) return false
    this.#armed = false
    return true
  }
}
