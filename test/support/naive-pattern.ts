/** The pattern language as one would read it aloud: recursive, exponential, and without a thought for it. */
export function naiveMatch(pattern: string, input: string | undefined): boolean {
  return from(pattern.split('.'), input === undefined ? [] : input.split('.'))
}

function from([segment, ...segments]: string[], parts: string[]): boolean {
  if (segment === undefined) return parts.length === 0
  const [part, ...rest] = parts
  if (segment === '**')
    return from(segments, parts) || (part !== undefined && from([segment, ...segments], rest))
  if (part === undefined) return false
  const one = segment === '*' ? part !== '' : alternatives(segment).includes(part)
  return one && from(segments, rest)
}

function alternatives(segment: string): string[] {
  return segment.startsWith('(') ? segment.slice(1, -1).split('|') : [segment]
}
