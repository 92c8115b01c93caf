import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cursor, formatCursor, parseCursor, parseLastEventId } from '../../src/last-event-id/index.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const LIMIT = 2n ** 53n - 1n

/** The grammar of the contract, said again with other means. */
function idOf(digits: string): number | undefined {
  if (!/^[0-9]+$/.test(digits) || BigInt(digits) > LIMIT) return undefined
  return Number(BigInt(digits))
}

function cursorOf(text: string): Cursor | undefined {
  const [before = '', after, ...more] = text.split(':')
  if (after === undefined) {
    const id = idOf(text)
    return id === undefined ? undefined : { id }
  }
  const id = idOf(after)
  const canonical = after === '0' || !after.startsWith('0')
  const epoch = /^[A-Za-z0-9_-]+$/.test(before) && before.length <= 64
  return more.length === 0 && id !== undefined && canonical && epoch ? { epoch: before, id } : undefined
}

const epochs = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/)
const ids = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER))
const digits = fc.oneof(
  fc.bigInt({ min: 0n, max: 4n * LIMIT }).map(String),
  fc.bigInt({ min: LIMIT - 3n, max: LIMIT + 3n }).map(String),
  fc.string({ unit: fc.constantFrom('0', '1', '9', '٣', '-', '.', ' '), maxLength: 20 }),
)

/** Any text, and text that is nearly a cursor. */
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...'0159:a_-+. \n\0٣'), maxLength: 24 }),
  digits,
  fc.tuple(fc.oneof(epochs, fc.string()), digits).map(([epoch, id]) => `${epoch}:${id}`),
)

describe('the parsers agree with their grammar', () => {
  it(
    'on any text',
    () => {
      fc.assert(
        fc.property(texts, (text) => {
          const invalid: string[] = []
          const note = (value: string) => invalid.push(value)
          const cursor = cursorOf(text)
          const id = text.includes(':') ? undefined : cursor?.id

          expect(parseLastEventId(text, note)).toBe(id)
          expect(invalid).toHaveLength(text === '' || id !== undefined ? 0 : 1)
          invalid.length = 0
          expect(parseCursor(text, note)).toStrictEqual(cursor)
          expect(invalid).toHaveLength(text === '' || cursor !== undefined ? 0 : 1)
          for (const reported of invalid) {
            expect(reported.length).toBeLessThanOrEqual(64)
            expect(reported).not.toMatch(/\p{Cc}/u)
          }
        }),
        runs(500),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'and throw for no value at all',
    () => {
      const throwing = () => {
        throw new Error('from the callback')
      }
      fc.assert(
        fc.property(
          fc.anything({ withBigInt: true, withNullPrototype: true, withSymbol: true } as object),
          (value) => {
            parseLastEventId(value, throwing)
            parseCursor(value, throwing)
            if (typeof value !== 'string') {
              expect(parseLastEventId(value)).toBeUndefined()
              expect(parseCursor(value)).toBeUndefined()
            }
          },
        ),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )
})

describe('a cursor', () => {
  it(
    'is read back as it was written',
    () => {
      fc.assert(
        fc.property(ids, fc.option(epochs, { nil: undefined }), (id, epoch) => {
          const cursor = epoch === undefined ? { id } : { id, epoch }
          expect(parseCursor(formatCursor(cursor))).toStrictEqual(cursor)
        }),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'is written as it was read, but for leading zeros',
    () => {
      fc.assert(
        fc.property(texts, (text) => {
          const cursor = parseCursor(text)
          if (cursor)
            expect(formatCursor(cursor)).toBe(text.includes(':') ? text : text.replace(/^0+(?=\d)/, ''))
        }),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
