/** Where a reader stands among the events of a bus, told by the ids that the server writes. */

/** Sixteen digits: longer ones are no number that can be compared, and no bus counts so far. */
export const CURSOR = /^(?:([\w-]{1,64}):(?!0\d))?(\d{1,16})$/

export interface Place {
  /** The bus's, once something named it. Ids without one belong to it. */
  epoch: string | undefined
  /** The last event's; −1 where that is not known. */
  last: number
  /** Goes to the next event in line where that is what an id says: the common case, without the cost of `goTo`. */
  goToNext(id: string): boolean
  /** Goes to where an id says. An old one says nothing. */
  goTo(id: string): 'new' | 'old' | 'another epoch'
  /** Goes to where a resync frame says; the cursor to send, where that moves it. */
  resync(data: ResyncData | null | undefined): string | undefined
}

/** What was sent as such, and may be anything. */
export interface ResyncData {
  readonly reason?: unknown
  readonly epoch?: unknown
  readonly earliestAvailableId?: unknown
}

export function createPlace(cursor: string | undefined): Place {
  const start = CURSOR.exec(cursor ?? '')
  /** What the server writes before its numbers; until it has written one, what it is thought to. */
  let prefix = `${start?.[1] ?? ''}:`

  const place: Place = {
    epoch: start?.[1],
    last: start ? Number(start[2]) : -1,
    goToNext(id) {
      let number = 0
      for (let at = prefix.length; at < id.length; at++) {
        const digit = id.charCodeAt(at) - 48
        if (digit < 0 || digit > 9) return false
        number = number * 10 + digit
      }
      // `startsWith` takes twice as long.
      if (number !== place.last + 1 || id.slice(0, prefix.length) !== prefix) return false
      place.last = number
      return true
    },
    goTo(id) {
      const match = CURSOR.exec(id)
      if (!match) return 'new'
      const number = Number(match[2])
      const before = place.epoch
      const epoch = match[1] ?? before
      if (epoch === before && number <= place.last) return 'old'
      place.epoch = epoch
      place.last = number
      prefix = match[1] === undefined ? '' : `${epoch}:`
      return epoch === before || before === undefined ? 'new' : 'another epoch'
    },
    resync(data) {
      const { epoch, earliestAvailableId, reason } = data ?? {}
      const match =
        typeof epoch === 'string' &&
        typeof earliestAvailableId === 'number' &&
        CURSOR.exec(`${epoch}:${earliestAvailableId - 1}`)
      if (!match) return undefined
      place.epoch = epoch
      place.last = reason === 'invalid_cursor' ? -1 : Number(match[2])
      // A server that writes bare ids may read no other cursors.
      if (prefix) prefix = `${epoch}:`
      return place.last < 0 ? undefined : prefix + place.last
    },
  }
  return place
}
