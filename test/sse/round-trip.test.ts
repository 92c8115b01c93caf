import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Frame } from '../../src/index.ts'
import { formatSseComment, formatSseFields, formatSseFrame } from '../../src/sse/index.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'
import { type Block, onlyEvent, read } from '../support/sse-stream.ts'

const CONTROL_TYPES = [
  'slow_client_warning',
  'client_evicted',
  'state_resync_required',
  'replay_complete',
  'stream_error',
]

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '\r',
      '\n',
      '\r\n',
      ' ',
      ':',
      '\0',
      '\ufeff',
      '\u2028',
      '\u0085',
      'data: ',
      'id: 9',
      'x',
    ),
  }),
)
const oneLine = anyText.map((text) => text.replace(/[\r\n\0]/g, ''))
const types = fc.oneof(
  oneLine,
  fc.constantFrom('error', 'open', 'message', '', 'constructor', '__proto__', ...CONTROL_TYPES),
)
const epochs = fc.option(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), { nil: undefined })
const ids = fc.option(fc.oneof(fc.maxSafeNat(), fc.nat(9)), { nil: undefined })
const json = fc.jsonValue()

const frames = fc
  .record({
    id: ids,
    type: types,
    data: json,
    named: fc.record(
      { originatorClientId: fc.string(), system: fc.string(), path: fc.string(), _meta: json },
      { requiredKeys: [] },
    ),
    // Behind a letter: JSON.stringify, which is the oracle here, moves keys that are numbers to the front.
    extra: fc.dictionary(
      fc.string().map((key) => `x${key}`),
      json,
    ),
  })
  .map(
    ({ id, type, data, named, extra }) =>
      ({ ...(id !== undefined && { id }), v: 1, type, data, ...named, ...extra }) as unknown as Frame,
  )

const options = fc.record({
  epoch: epochs,
  data: fc.constantFrom('envelope' as const, 'payload' as const, undefined),
  event: fc.constantFrom(true, false, undefined),
})

/** Splits text at the given places: a parser gets a stream in chunks of any size. */
function chunks(text: string, cuts: number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
  return places.slice(1).map((end, i) => text.slice(places[i], end))
}

describe('any frame', () => {
  it(
    'arrives as it was, in every form',
    () => {
      fc.assert(
        fc.property(frames, options, (frame, { epoch, data = 'envelope', event = data === 'envelope' }) => {
          const control = CONTROL_TYPES.includes(frame.type)
          const named = control || (event && !['error', 'open', ''].includes(frame.type))
          const expected: Block = { data: JSON.stringify(data === 'envelope' ? frame : frame.data) }
          if (frame.id !== undefined && !control)
            expected.id = epoch === undefined ? `${frame.id}` : `${epoch}:${frame.id}`
          if (named) expected.event = frame.type
          expect(onlyEvent(formatSseFrame(frame, { epoch, data, event }))).toEqual(expected)
        }),
        runs(500),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'arrives whole however the stream is cut into chunks',
    () => {
      fc.assert(
        fc.property(fc.array(frames, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (sent, cuts) => {
          const { events, errors } = read(
            ...chunks(sent.map((frame) => formatSseFrame(frame)).join(''), cuts),
          )
          expect(events.map(({ data }) => data)).toEqual(sent.map((frame) => JSON.stringify(frame)))
          expect(errors).toEqual([])
        }),
        runs(100),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'has its keys in order, in whatever order it was written',
    () => {
      const written = frames.chain((frame) =>
        fc.tuple(
          fc.constant(frame),
          fc.shuffledSubarray(Object.keys(frame), { minLength: Object.keys(frame).length }),
        ),
      )
      fc.assert(
        fc.property(written, ([frame, keys]) => {
          const head = ['id', 'v', 'type', 'data', 'originatorClientId', 'system', 'path', '_meta']
          const order = [
            ...head.filter((key) => keys.includes(key)),
            ...keys.filter((key) => !head.includes(key)),
          ]
          const pick = (names: string[]) =>
            Object.fromEntries(names.map((name) => [name, frame[name as keyof Frame]]))
          const { data } = onlyEvent(formatSseFrame(pick(keys) as unknown as Frame))
          expect(data).toBe(JSON.stringify(pick(order)))
        }),
        runs(200),
      )
    },
    PROPERTY_TIMEOUT,
  )
})

describe('any fields', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 256,
  })
  const fields = fc.record(
    {
      id: printable.filter((id) => id !== '' && id === id.trim()),
      event: oneLine,
      data: anyText,
      retry: fc.maxSafeNat(),
    },
    { requiredKeys: ['data'] },
  )

  it(
    'arrive as they were, with each break as one line feed',
    () => {
      fc.assert(
        fc.property(fields, fc.array(fc.nat(), { maxLength: 4 }), ({ id, event, data, retry }, cuts) => {
          const text = formatSseFields({ id, event, data, retry })
          const expected: Block = { data: data.replaceAll('\r\n', '\n').replaceAll('\r', '\n') }
          if (id !== undefined) expected.id = id
          if (event) expected.event = event
          expect(read(...chunks(text, cuts))).toEqual({
            events: [expected],
            ids: id === undefined ? [] : [id],
            retries: retry === undefined ? [] : [retry],
            comments: [],
            errors: [],
          })
        }),
        runs(500),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'are refused, or are one block that holds nothing else',
    () => {
      const wild = fc.record(
        { id: anyText, event: anyText, data: anyText, retry: fc.double() },
        { requiredKeys: [] },
      )
      fc.assert(
        fc.property(wild, (given) => {
          let text: string
          try {
            text = formatSseFields(given)
          } catch (error) {
            expect(error).toBeInstanceOf(TypeError)
            return
          }
          const { events, ids, errors, comments } = read(text)
          expect(events).toHaveLength(given.data === undefined ? 0 : 1)
          expect(ids).toEqual(given.id === undefined ? [] : [given.id])
          expect([...errors, ...comments]).toEqual([])
        }),
        runs(500),
      )
    },
    PROPERTY_TIMEOUT,
  )
})

describe('any comment', () => {
  it(
    'dispatches nothing, wherever between blocks it stands',
    () => {
      fc.assert(
        fc.property(anyText, frames, fc.array(fc.nat(), { maxLength: 4 }), (comment, frame, cuts) => {
          const block = formatSseFrame(frame)
          const stream = formatSseComment(comment) + block + formatSseComment(comment)
          const { events, ids, retries, errors, comments } = read(...chunks(stream, cuts))
          expect({ events, ids, retries, errors }).toEqual({ ...read(block), comments: undefined })
          const lines = comment.split(/\r\n|\n|\r/)
          expect(comments).toEqual([...lines, ...lines])
        }),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
