import { describe, expect, it } from 'vitest'
import { formatCursor, parseCursor, parseLastEventId } from '../../src/last-event-id/index.ts'
import { shown } from '../support/shown.ts'

type Parser = (value: unknown, onInvalid?: (value: string) => void) => unknown

/** What a parser makes of a value, and what it reports. */
function outcome(parser: Parser, value: unknown): { value: unknown; invalid: string[] } {
  const invalid: string[] = []
  return { value: parser(value, (reported) => invalid.push(reported)), invalid }
}

const both: [string, Parser][] = [
  ['parseLastEventId', parseLastEventId],
  ['parseCursor', parseCursor],
]

const VALID: [string, number][] = [
  ['0', 0],
  ['1', 1],
  ['5', 5],
  ['42', 42],
  ['4294967296', 4_294_967_296],
  ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ['007', 7],
  [`${'0'.repeat(400)}7`, 7],
]

const INVALID: unknown[] = [
  // Past 2^53 − 1.
  '9007199254740992',
  '9007199254740993',
  '9'.repeat(20),
  '1'.repeat(400),
  // What Number or parseInt would take.
  '-1',
  '-0',
  '+1',
  '+5',
  '1.0',
  '5.0',
  '1e3',
  '0x10',
  '1_000',
  '1_0',
  '1abc',
  '12abc',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  // Blanks and invisible characters: HTTP has trimmed what it may.
  ' 7',
  '7 ',
  ' 5 ',
  '7\n',
  '5\n',
  '7\r\n',
  '\t7',
  '5\u0000',
  '\ufeff5',
  '\u00a05',
  '1\u200b',
  ' ',
  // Digits of other scripts, and what Latin-1 makes of their bytes.
  '٣',
  '１２',
  '５',
  '²',
  'Ù£',
  // The header sent twice, as Node and Headers join it.
  '5, 6',
  '5, 7',
  // Cursors that are none.
  'abc:',
  ':5',
  ':12',
  'abc:05',
  'abc:012',
  'abc:00',
  'abc:5:6',
  'abc:12:3',
  'abc:-1',
  'abc: 5',
  'abc:5 ',
  'abc:5\n',
  'abc:٣',
  'abc:9007199254740992',
  'a b:5',
  'ä:5',
  'a.b:5',
  `${'e'.repeat(65)}:5`,
  ':',
  // No strings.
  5,
  0,
  -1,
  Number.NaN,
  5n,
  true,
  false,
  ['5'],
  ['5', '7'],
  {},
  { id: 5 },
  new String('5'),
  () => '5',
  Symbol('5'),
]

describe.each(both)('%s', (_, parser) => {
  it.each([undefined, null, ''])('takes %j for absent, which is not invalid', (value) => {
    expect(outcome(parser, value)).toEqual({ value: undefined, invalid: [] })
  })

  it.each(shown(INVALID))('refuses %s, and says so once', (_, value) => {
    const { value: parsed, invalid } = outcome(parser, value)
    expect(parsed).toBeUndefined()
    expect(invalid).toHaveLength(1)
  })

  it('refuses in silence without a callback', () => {
    for (const value of INVALID) expect(parser(value)).toBeUndefined()
  })

  it('reports what came', () => {
    expect(outcome(parser, '12abc').invalid).toEqual(['12abc'])
    expect(outcome(parser, ['5', '7']).invalid).toEqual(['5,7'])
    expect(outcome(parser, 5).invalid).toEqual(['5'])
  })

  it('reports a long value clipped', () => {
    const [reported] = outcome(parser, '1'.repeat(400)).invalid
    expect(reported).toBe('1'.repeat(64))
  })

  it('reports no control character, and nothing else that would break or disguise a line of a log', () => {
    const [reported] = outcome(
      parser,
      '1\r\nX: y\u001b[31m\0\u007f\u0085\u2028\u2029\u202e\u200b\ufeff',
    ).invalid
    expect(reported).toContain('X: y')
    expect(reported).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
  })

  it('cuts no character in half where it clips', () => {
    expect(outcome(parser, `${'x'.repeat(63)}😀`).invalid).toEqual([`${'x'.repeat(63)}\ufffd`])
  })

  it('survives a value that cannot be converted, and reports it all the same', () => {
    const hostile = {
      toString() {
        throw new Error('no text')
      },
    }
    expect(outcome(parser, hostile)).toEqual({ value: undefined, invalid: ['object'] })
    expect(outcome(parser, Object.create(null))).toEqual({ value: undefined, invalid: ['object'] })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(outcome(parser, proxy).invalid).toHaveLength(1)
  })

  it('swallows what the callback throws, and a callback that is none', () => {
    const throwing = () => {
      throw new Error('the log is full')
    }
    expect(parser('x', throwing)).toBeUndefined()
    expect(parser('x', 'no function' as never)).toBeUndefined()
    expect(parser('x', null as never)).toBeUndefined()
  })
})

describe('parseLastEventId', () => {
  it.each(VALID)('reads %j', (value, id) => {
    expect(outcome(parseLastEventId, value)).toEqual({ value: id, invalid: [] })
  })

  it('refuses a cursor with an epoch', () => {
    expect(outcome(parseLastEventId, 'abc:5')).toEqual({ value: undefined, invalid: ['abc:5'] })
  })
})

describe('parseCursor', () => {
  it.each(VALID)('reads %j as a cursor without an epoch', (value, id) => {
    const { value: cursor, invalid } = outcome(parseCursor, value)
    expect(cursor).toStrictEqual({ id })
    expect(invalid).toEqual([])
  })

  it.each([
    ['abc:5', 'abc', 5],
    ['abc:12', 'abc', 12],
    ['old:12', 'old', 12],
    ['abc:0', 'abc', 0],
    ['12:5', '12', 5],
    ['-_-:1', '-_-', 1],
    ['__proto__:1', '__proto__', 1],
    [`${'e'.repeat(64)}:9007199254740991`, 'e'.repeat(64), Number.MAX_SAFE_INTEGER],
  ])('reads %j', (value, epoch, id) => {
    const { value: cursor, invalid } = outcome(parseCursor, value)
    expect(cursor).toStrictEqual({ epoch, id })
    expect(invalid).toEqual([])
  })
})

describe('formatCursor', () => {
  it('writes what parseCursor reads', () => {
    expect(formatCursor({ id: 7 })).toBe('7')
    expect(formatCursor({ id: 0, epoch: undefined })).toBe('0')
    expect(formatCursor({ id: 7, epoch: 'abc' })).toBe('abc:7')
    expect(formatCursor({ id: Number.MAX_SAFE_INTEGER })).toBe('9007199254740991')
    expect(formatCursor({ id: -0 })).toBe('0')
  })

  it.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53, 1e21])('refuses the id %d as out of range', (id) => {
    expect(() => formatCursor({ id })).toThrow(RangeError)
    expect(() => formatCursor({ id, epoch: 'abc' })).toThrow(/\bid\b/)
  })

  it.each(['', 'a b', 'a:b', 'ä', 'a\n', 'e'.repeat(65)])('refuses the epoch %j as out of range', (epoch) => {
    expect(() => formatCursor({ id: 1, epoch })).toThrow(RangeError)
    expect(() => formatCursor({ id: 1, epoch })).toThrow(/\bepoch\b/)
  })

  it.each([
    [{ id: '7' }, 'id'],
    [{ id: 7n }, 'id'],
    [{ id: null }, 'id'],
    [{}, 'id'],
    [{ id: 7, epoch: null }, 'epoch'],
    [{ id: 7, epoch: 5 }, 'epoch'],
    [{ id: 7, epoch: new String('abc') }, 'epoch'],
    [null, 'cursor'],
    [undefined, 'cursor'],
    ['abc:7', 'id'],
  ])('refuses %o as of a wrong type, naming %s', (cursor, name) => {
    expect(() => formatCursor(cursor as never)).toThrow(TypeError)
    expect(() => formatCursor(cursor as never)).toThrow(new RegExp(`\\b${name}\\b`))
  })
})
