/**
 * The pattern language. Segments are split at `.`: `*` is exactly one that is not empty, `**` zero or more, `(a|b)` one of
 * several literals, anything else itself.
 */

import { check } from '../internal/check.ts'

export const ANY = Symbol()
export const MANY = Symbol()

/** A literal, a set of them, or a wildcard. No input is mistaken for a wildcard: those are no strings. */
export type Segment = string | ReadonlySet<string> | typeof ANY | typeof MANY

export interface CompiledPattern {
  /** Whether the whole input matches, case and all. Linear in the input, whatever the pattern. */
  match(input: string): boolean
  readonly source: string
}

/** Matches an input that may be missing: then only a pattern of nothing but `**` does. */
export type Matcher = (input: unknown) => boolean

/** Throws `TypeError` naming the segment that is none, and for the empty pattern. */
export function compilePattern(pattern: string): CompiledPattern {
  return { match: matcherOf(parsed('pattern', pattern), pattern), source: pattern }
}

/** The segments of the option `name`; each run of `**` is one. */
export function parsed(name: string, pattern: string): Segment[] {
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

export function matcherOf(segments: readonly Segment[], source: string | undefined): Matcher {
  if (segments.every((segment) => typeof segment === 'string')) return (input) => input === source
  if (segments.length === 1 && segments[0] === MANY) return () => true
  return (input) => matches(segments, partsOf(input))
}

/** To go back to the last `**` is enough: what an earlier one could take, that one can take too. */
function matches(segments: readonly Segment[], parts: readonly string[]): boolean {
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
    } else if (behindMany > 0) {
      at = behindMany
      i = ++resume
    } else return false
  }
  if (segments[at] === MANY) at++
  return at === segments.length
}

function accepts(segment: Segment | undefined, part: string): boolean {
  if (segment === ANY) return part !== ''
  return typeof segment === 'object' ? segment.has(part) : segment === part
}

function segmentOf(name: string, text: string): Segment {
  if (text === '*') return ANY
  if (text === '**') return MANY
  if (!/[*()|]/.test(text)) return text
  const literals = /^\(([^*()]+)\)$/.exec(text)?.[1]?.split('|') ?? ['']
  if (literals.includes('')) {
    throw new TypeError(`${name} has a segment that is no literal, *, ** or (a|b): ${JSON.stringify(text)}`)
  }
  return new Set(literals)
}
