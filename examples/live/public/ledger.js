/**
 * The page's own accounts of a reader: it trusts nothing and counts for itself what came, what came twice and what is
 * missing.
 * Within an epoch ids run 1, 2, 3 … without a hole, so any jump that no resync frame announced is a loss.
 */
export class Ledger {
  received = 0
  replayed = 0
  duplicates = 0
  /** Lost without a word. */
  missing = 0
  /** Lost, and said so in-band. */
  announced = 0
  epoch = undefined
  lastId = undefined

  /** One event came. Returns what is wrong with it, in words, or undefined. */
  event(cursor, wasReplayed) {
    this.received += 1
    if (wasReplayed) this.replayed += 1
    const { epoch, id } = parts(cursor)
    if (this.lastId === undefined) this.#stand(epoch, id - 1)
    if (epoch !== this.epoch) {
      this.missing += 1
      this.#stand(epoch, id)
      return `Event ${id} is of epoch ${epoch}, which no frame announced.`
    }
    if (id <= this.lastId) {
      this.duplicates += 1
      return `Event ${id} came again.`
    }
    return this.#advance(id - 1, id)
  }

  /** A cursor without an event: at the start it says where we stand; later it must not run ahead of what came. */
  cursor(cursor) {
    const { epoch, id } = parts(cursor)
    if (this.lastId === undefined) this.#stand(epoch, id)
    return epoch === this.epoch && id > this.lastId ? this.#advance(id, id) : undefined
  }

  /** A control frame. Returns how many events it says are gone, where that can be known. */
  control({ type, data }) {
    if (type !== 'state_resync_required') return undefined
    const { reason, earliestAvailableId, epoch } = data
    const gone =
      reason === 'ring_evicted' && this.lastId !== undefined
        ? earliestAvailableId - 1 - this.lastId
        : undefined
    this.announced += gone ?? 0
    this.#stand(epoch, earliestAvailableId - 1)
    return gone
  }

  /** Everything up to `expected` should have come before; from now on we stand at `id`. */
  #advance(expected, id) {
    const lost = expected - this.lastId
    const first = this.lastId + 1
    this.missing += lost
    this.lastId = id
    return lost > 0 ? `The events from ${first} to ${expected} never came.` : undefined
  }

  #stand(epoch, id) {
    this.epoch = epoch
    this.lastId = id
  }
}

/** `<epoch>:<id>`, as the `id:` line holds it. */
export function parts(cursor) {
  const colon = cursor.lastIndexOf(':')
  return { epoch: cursor.slice(0, Math.max(colon, 0)), id: Number(cursor.slice(colon + 1)) }
}
