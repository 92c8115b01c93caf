/** The page's own accounts of a gate: what went into it, what came out, and what became of the rest. */
import { parts } from './ledger.js'

export class Held {
  /** `{ event, cursor, delivery }`, oldest first. */
  #inside = []
  /** The last event in the state that the gate was opened with: up to it, the gate drops what still comes. */
  #loadedId = -1
  /** Came out after the gate had held it. */
  released = 0
  /** Dropped, since a state that was loaded contained it. */
  contained = 0

  get count() {
    return this.#inside.length
  }

  enter(entry) {
    if (entry.event.id <= this.#loadedId) this.contained += 1
    else this.#inside.push(entry)
  }

  /** An event came out: what it went in with. */
  leave(event) {
    const [entry] = this.#inside.splice(
      this.#inside.findIndex((inside) => inside.event === event),
      1,
    )
    if (entry.delivery === 'held') this.released += 1
    return entry
  }

  /** The gate shuts, again or for the first time: the state that is loaded next contains all of it. */
  shut() {
    this.contained += this.#inside.length
    this.#inside = []
    this.#loadedId = -1
  }

  /** The gate opens with a state of this cursor; what that does to what was held, in numbers. */
  open(cursor) {
    this.#loadedId = parts(cursor).id
    const before = this.#inside.length
    this.#inside = this.#inside.filter(({ event }) => event.id > this.#loadedId)
    const contained = before - this.#inside.length
    this.contained += contained
    return { kept: this.#inside.length, contained }
  }
}
