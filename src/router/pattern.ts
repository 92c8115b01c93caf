/**
 * The pattern language. Segments are split at `.`: `*` is exactly one that is not empty, `**` zero or more, `(a|b)` one of
 * several literals, anything else itself.
 */

import { check } from '../internal/check.ts'

// With a dot, which no segment of an input has.
export const ANY = '.*'
export const MANY = '.**'
/** From the system to the type, and from the type to the path: what no wildcard crosses. */
export const NEXT = '.'

/** `ANY`, `MANY`, `NEXT`, a literal, or the literals of a group. */
export type Segment = string | readonly string[]

export interface CompiledPattern {
  /** Whether the whole input matches, case and all. Linear in the input, whatever the pattern. */
  match(input: string): boolean
  readonly source: string
}

/** Throws `TypeError` naming the segment that is none, and for the empty pattern. */
export function compilePattern(pattern: string): CompiledPattern {
  const segments = segmentsOf('pattern', check('pattern', pattern, 'string'))
  return { match: (input) => matches(segments, partsOf(input)), source: pattern }
}

/** The segments of the pattern in the option `name`, each run of `**` as one; left out, it is `**`. */
export function segmentsOf(name: string, pattern: string | undefined): Segment[] {
  if (pattern === undefined) return [MANY]
  if (check(name, pattern, 'string') === '') throw new TypeError(`${name} must not be empty`)
  const segments: Segment[] = []
  for (const text of pattern.split('.')) {
    const segment = segmentOf(name, text)
    if (segment !== MANY || segments.at(-1) !== MANY) segments.push(segment)
  }
  return segments
}

/** The segments of an input; none where it is missing. */
export function partsOf(input: unknown): string[] {
  return typeof input === 'string' ? input.split('.') : []
}

/** To go back to the last `**` is enough: what an earlier one could take, that one can take too. */
export function matches(segments: readonly Segment[], parts: readonly string[]): boolean {
  let at = 0
  let behindMany = 0
  let resume = 0
  for (let i = 0; i < parts.length; ) {
    const segment = segments[at]
    if (segment === MANY) {
      behindMany = ++at
      resume = i
    } else if (accepts(segment, parts[i] as string)) {
      at++
      i++
    } else if (behindMany > 0 && parts[resume] !== NEXT) {
      at = behindMany
      i = ++resume
    } else return false
  }
  if (segments[at] === MANY) at++
  return at === segments.length
}

function accepts(segment: Segment | undefined, part: string): boolean {
  if (segment === ANY) return part !== '' && part !== NEXT
  return typeof segment === 'object' ? segment.includes(part) : segment === part
}

function segmentOf(name: string, text: string): Segment {
  if (text === '*' || text === '**') return `.${text}`
  if (!/[*()|]/.test(text)) return text
  const literals = /^\(([^*()]+)\)$/.exec(text)?.[1]?.split('|') ?? ['']
  if (literals.includes(''))
    throw new TypeError(`${name} has a segment that is none: ${JSON.stringify(text)}`)
  const [first, ...others] = new Set(literals)
  // A group of one is that literal.
  return others.length > 0 ? [first as string, ...others] : (first as string)
}
