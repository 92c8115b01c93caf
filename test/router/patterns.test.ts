import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern } from '../../src/router/index.ts'
import { naiveMatch } from '../support/naive-pattern.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const ROWS: [pattern: string, input: string, match: boolean][] = [
  ['registry.*', 'registry.create', true],
  ['registry.*', 'registry.entry.create', false],
  ['registry.*', 'registry', false],
  ['registry.*', 'registry.', false],
  ['registry.**', 'registry', true],
  ['registry.**', 'registry.entry.create', true],
  ['*', 'anything', true],
  ['*', 'a.b', false],
  ['*', '', false],
  ['*.*', 'a', false],
  ['.*', '.x', true],
  ['**', '', true],
  ['**', 'a.b.c', true],
  ['**.**', 'x', true],
  ['a', 'a', true],
  ['a', 'ab', false],
  ['a', 'A', false],
  ['system.event', 'system.event.extra', false],
  ['system.event', 'system', false],
  ['a.**', 'a', true],
  ['a.**', 'a.b.c.d', true],
  ['a.**', 'a..b', true],
  ['a.*.b', 'a..b', false],
  ['*.*.*', 'a.b', false],
  ['*.*.*', 'a.b.c.d', false],
  ['**.state.*', 'a.state.x', true],
  ['**.state.*', 'a.b.c.state.x', true],
  ['**.state.*', 'b.state.y.z', false],
  ['**.state.**', 'state', true],
  ['a.**.z', 'a.b.c.z', true],
  ['a.**.z', 'a.b.c', false],
  ['a.**.**.z', 'a.z', true],
  ['a.**.b.**.c', 'a.c.b', false],
  ['a.*.c', 'a.b.d.c', false],
  ['a.b.*.c', 'a.b.x.c', true],
  ['*.*.state.*', 'a.b.state', false],
  ['(a|b).(b|y).c', 'a.y.c', true],
  ['(a|b).(b|y).c', 'c.b.c', false],
  ['function.(register|delete)', 'function.delete', true],
  ['function.(register|delete)', 'function.accept', false],
  ['response.(accept|reject)', 'response.accepted', false],
  ['(a)', 'a', true],
  // Characters that mean something in a pattern mean nothing in an input.
  ['a.b', 'a.*', false],
  ['a.b', 'a.**', false],
  ['(a|b)', '(a|b)', false],
  ['*', '**', true],
  ['a.*', 'a.(b|c)', true],
  // Names of what every object has.
  ['__proto__', '__proto__', true],
  ['(constructor|toString).*', 'constructor.hasOwnProperty', true],
  ['(a|b)', 'valueOf', false],
]

const REFUSED: [pattern: string, named: string][] = [
  ['', 'empty'],
  ['foo*', 'foo*'],
  ['a*.b', 'a*'],
  ['x(a|b)', 'x(a|b)'],
  ['(a|b.c).d', '(a|b'],
  ['(a|*).x', '(a|*)'],
  ['()', '()'],
  ['(a|)', '(a|)'],
  ['(|a)', '(|a)'],
  ['a.(b', '(b'],
  ['b)', 'b)'],
  ['a|b', 'a|b'],
  ['((a))', '((a))'],
  ['***', '***'],
]

describe('a pattern', () => {
  it.each(ROWS)('%j on %j: %j', (pattern, input, match) => {
    expect(compilePattern(pattern).match(input)).toBe(match)
    expect(naiveMatch(pattern, input)).toBe(match)
  })

  it.each(REFUSED)('%j is refused by the name of its segment', (pattern, named) => {
    expect(() => compilePattern(pattern)).toThrow(TypeError)
    expect(() => compilePattern(pattern)).toThrow(named)
  })

  it.each([undefined, null, 7, {}, ['a']])('must be a string, and %j is none', (pattern) => {
    expect(() => compilePattern(pattern as never)).toThrow(TypeError)
  })

  it('says what it was compiled from, and its match stands alone', () => {
    const { match, source } = compilePattern('a.**.(b|c)')
    expect(source).toBe('a.**.(b|c)')
    expect(match('a.x.c')).toBe(true)
  })

  const segment = fc.constantFrom('a', 'b', '', '*', '**', '(a|b)', '(b|c)', '(c)')
  const pattern = fc.array(segment, { minLength: 1, maxLength: 7 }).map((all) => all.join('.'))
  const input = fc.array(fc.constantFrom('a', 'b', 'c', '', '*'), { minLength: 1, maxLength: 8 })

  it(
    'matches what a naive recursive reading of its segments matches',
    () => {
      fc.assert(
        fc.property(
          pattern.filter((text) => text !== ''),
          input,
          (text, parts) => {
            const one = parts.join('.')
            expect(compilePattern(text).match(one)).toBe(naiveMatch(text, one))
          },
        ),
        runs(2000),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
