/**
 * Event ids: `<namespace>:<stream>:<epoch>:<number>`. They are opaque to clients and travel in an SSE field and in a
 * header, so they are printable ASCII whatever the names are.
 */

/** Where a message stands. */
export interface Place {
  readonly namespace: string
  readonly stream: string
  readonly epoch: string
  readonly number: number
}

const ID = /^([^:]*):([^:]*):([^:]*):([1-9]\d*)$/

export function formatEventId({ namespace, stream, epoch, number }: Place): string {
  return `${encoded(namespace)}:${encoded(stream)}:${encoded(epoch)}:${number}`
}

/** Undefined for everything that `formatEventId` does not write. */
export function parseEventId(id: string): Place | undefined {
  try {
    const [, namespace, stream, epoch, digits] = ID.exec(id) as unknown as [
      string,
      string,
      string,
      string,
      string,
    ]
    const place = {
      namespace: decoded(namespace),
      stream: decoded(stream),
      epoch: decoded(epoch),
      number: Number(digits),
    }
    // Two spellings of one place would be two ids of one message.
    return Number.isSafeInteger(place.number) && formatEventId(place) === id ? place : undefined
  } catch {
    return undefined
  }
}

// JSON first: it has a spelling for half of a surrogate pair, which no percent-encoding has.
const encoded = (text: string) => encodeURIComponent(JSON.stringify(text).slice(1, -1))

const decoded = (text: string): string => JSON.parse(`"${decodeURIComponent(text)}"`)
