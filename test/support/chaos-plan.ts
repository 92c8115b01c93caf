/** What is to happen to a connection, drawn from a seed, and where in its bytes. */

/** Whole numbers from 0 up to, not including, `below`. */
export type Draw = (below: number) => number

/** The same numbers for the same seed (the mulberry32 generator). */
export function drawFrom(seed: number): Draw {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** The place of a cut in what the server sends; `from` bytes of the body at least come before it. */
export const PLACES = [
  'before the request',
  'before the head',
  'in the head',
  'behind the head',
  'anywhere',
  'in a block',
  'before the blank line',
  'behind a block',
  'in a character',
] as const

/**
 * - `reset`: RST to both ends.
 * - `end`: FIN to the client and to the server.
 * - `clean end`: the response has no coding that marks its end, so that a FIN anywhere is a proper end of the body.
 * - `half-close`: FIN to the client, while the server goes on writing to a client that is not there any more.
 * - `half-close towards the server`: FIN to the server; what it still says arrives.
 * - `stall`: nothing more arrives for a moment, then RST.
 * - `silence`: nothing more arrives, and nobody says so.
 * - `late`: RST to the client, but its request reaches the server only after that of the next connection.
 */
export const WAYS = [
  'reset',
  'end',
  'clean end',
  'half-close',
  'half-close towards the server',
  'stall',
  'silence',
  'late',
] as const

export type Place = (typeof PLACES)[number]
export type Way = (typeof WAYS)[number]

export interface Fate {
  readonly place: Place
  readonly from: number
  readonly way: Way
  /** The most bytes in one piece; every piece takes a turn of the event loop. */
  readonly pieces: number
  /** Milliseconds: how long the request is held back, each read of the response, and what was stalled. */
  readonly holdMs: number
  readonly delayMs: number
  readonly stallMs: number
}

const oneOf = <T>(draw: Draw, values: readonly T[]) => values[draw(values.length)] as T

/** One in `n` is not 0. */
const rarely = (draw: Draw, n: number, most: number) => (draw(n) === 0 ? 1 + draw(most) : 0)

/** A fate that strikes within about `bytes` of the body; soon where the pieces are small, since each takes its time. */
export function drawFate(draw: Draw, bytes: number): Fate {
  const way = oneOf(draw, WAYS)
  const pieces = oneOf(draw, [1, 7, 64, Infinity, Infinity, Infinity, Infinity, Infinity])
  return {
    way,
    place: way === 'late' ? 'before the request' : oneOf(draw, PLACES),
    from: draw(Math.min(bytes, pieces * 200)),
    pieces,
    holdMs: rarely(draw, 8, 4),
    delayMs: rarely(draw, 8, 2),
    stallMs: 1 + draw(4),
  }
}

const HEAD_END = Buffer.from('\r\n\r\n')
const NEWLINE = 10

/** Finds the place of a cut in a response that comes in any pieces. */
export class Cut {
  #before = Buffer.alloc(0)
  /** Where the body begins, once that is known. */
  #body = Infinity
  #seen = 0

  constructor(
    readonly place: Place,
    readonly from: number,
  ) {}

  /** How much of `chunk` is let through before the cut, or undefined where the cut is not in it. */
  in(chunk: Buffer): number | undefined {
    const start = this.#seen
    const text = Buffer.concat([this.#before, chunk])
    const offset = start - this.#before.length
    if (this.#body === Infinity) {
      const end = text.indexOf(HEAD_END)
      if (end >= 0) this.#body = offset + end + HEAD_END.length
    }
    this.#seen = start + chunk.length
    this.#before = text.subarray(-3)
    const at = this.#find(chunk, start)
    return at === undefined || at >= this.#seen ? undefined : Math.max(0, at - start)
  }

  /** The offset in the whole response; the whole chunk is before it where it is not less than what was seen. */
  #find(chunk: Buffer, start: number): number | undefined {
    if (this.place === 'before the head') return 0
    if (this.place === 'in the head') return 1 + (this.from % 100)
    if (this.place === 'behind the head') return this.#body
    if (this.place === 'anywhere') return this.#body + this.from
    for (let at = Math.max(0, this.#body + this.from - start); at < chunk.length - 1; at++) {
      if (this.#isBefore(chunk, at)) return start + at + 1
    }
    return undefined
  }

  /** Whether the cut may be right behind `chunk[at]`. */
  #isBefore(chunk: Buffer, at: number): boolean {
    const [previous, here, next] = [chunk[at - 1] as number, chunk[at] as number, chunk[at + 1] as number]
    if (this.place === 'in a character') return here >= 0xc0
    if (here !== NEWLINE) return false
    if (this.place === 'before the blank line') return next === NEWLINE
    if (next === NEWLINE) return false
    return (previous === NEWLINE) === (this.place === 'behind a block')
  }
}
