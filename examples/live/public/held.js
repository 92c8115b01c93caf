/** The page's own accounts of a gate: what went in and has not come out is held or was dropped. */
import { parts } from './ledger.js'

export class Held {
  /** `{ event, cursor, delivery }`, oldest first. */
  #inside = []
  /** Came out after the gate had held it. */
  released = 0
  /** Dropped, since a state that was loaded contained it. */
  contained = 0

  get count() {
    return this.#inside.length
  }

  enter(entry) {
    this.#inside.push(entry)
  }

  /** An event came out. What went in before it and has not come out never will. */
  leave(event) {
    const before = this.#inside.findIndex((entry) => entry.event === event)
    const [entry] = this.#inside.splice(0, before + 1).slice(before)
    this.contained += before
    if (entry.delivery === 'held') this.released += 1
    return entry
  }

  /** The next state to be loaded contains all of it. */
  drop() {
    this.contained += this.#inside.length
    this.#inside = []
  }

  /** What a state of this cursor does to it, in numbers. */
  split(cursor) {
    const { id } = parts(cursor)
    const kept = this.#inside.filter(({ event }) => event.id > id).length
    return { kept, contained: this.#inside.length - kept }
  }
}
