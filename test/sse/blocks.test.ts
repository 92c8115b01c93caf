import { describe, expect, it } from 'vitest'
import {
  formatSseComment,
  formatSseCursor,
  formatSseFields,
  formatSseFrame,
  formatSseRetry,
} from '../../src/sse/index.ts'
import { onlyEvent, read, shifty } from '../support/sse-stream.ts'

describe('formatSseCursor', () => {
  it('is an id, the name cursor and an empty data line', () => {
    expect(formatSseCursor({ id: 7 })).toBe('id: 7\nevent: cursor\ndata:\n\n')
    expect(formatSseCursor({ id: 0, epoch: 'abc' })).toBe('id: abc:0\nevent: cursor\ndata:\n\n')
    expect(formatSseCursor({ id: 7, epoch: undefined })).toBe(formatSseCursor({ id: 7 }))
  })

  it('moves the cursor of a client that ignores blocks without a data line, and is no message', () => {
    expect(onlyEvent(formatSseCursor({ id: 7, epoch: 'abc' }))).toEqual({
      id: 'abc:7',
      event: 'cursor',
      data: '',
    })
  })

  it.each<[string, unknown]>([
    ['id', { id: -1 }],
    ['id', { id: 1.5 }],
    ['id', { id: Number.NaN }],
    ['id', { id: 2 ** 53 }],
    ['id', { id: '7' }],
    ['id', { id: '7\n\nevent: admin' }],
    ['id', { id: null }],
    ['id', {}],
    ['epoch', { id: 7, epoch: '' }],
    ['epoch', { id: 7, epoch: 'a b' }],
    ['epoch', { id: 7, epoch: 'a\n' }],
    ['epoch', { id: 7, epoch: null }],
    ['epoch', { id: 7, epoch: 5 }],
    ['cursor|id', null],
    ['cursor|id', undefined],
    ['cursor|id', 7],
    ['cursor|id', 'abc:7'],
  ])('refuses a bad %s: %j', (name, cursor) => {
    expect(() => formatSseCursor(cursor as never)).toThrow(TypeError)
    expect(() => formatSseCursor(cursor as never)).toThrow(new RegExp(name))
  })
})

describe('formatSseFields', () => {
  it('writes the fields that are there', () => {
    const text = formatSseFields({ id: 'any id', event: 'note', data: 'hello', retry: 5 })
    expect(read(text)).toEqual({
      events: [{ id: 'any id', event: 'note', data: 'hello' }],
      ids: ['any id'],
      retries: [5],
      comments: [],
      errors: [],
    })
    expect(formatSseFields({ id: '7' })).toBe('id: 7\n\n')
    expect(formatSseFields({ event: 'note' })).toBe('event: note\n\n')
    expect(formatSseFields({ retry: 0 })).toBe('retry: 0\n\n')
    expect(formatSseFields({ data: 'x', id: undefined, event: undefined, retry: undefined })).toBe(
      'data: x\n\n',
    )
  })

  it.each([
    ['a\rb', 'a\nb'],
    ['a\r\nb', 'a\nb'],
    ['a\nb', 'a\nb'],
    ['a\n\rb', 'a\n\nb'],
    ['\n', '\n'],
    ['\r', '\n'],
    ['a\n', 'a\n'],
    ['a\r', 'a\n'],
    ['\r\n', '\n'],
    ['', ''],
    ['\n\n', '\n\n'],
    // No other character ends a line.
    ['a\u2028b\u2029c\u0085d\ve\ff', 'a\u2028b\u2029c\u0085d\ve\ff'],
    [' x', ' x'],
    ['  x', '  x'],
    [':x', ':x'],
    ['data: x', 'data: x'],
    ['a\n b\n:c\nid: 9', 'a\n b\n:c\nid: 9'],
    ['a\revent: evil', 'a\nevent: evil'],
    ['\0', '\0'],
    ['$&$1$$', '$&$1$$'],
    ['a\n$&', 'a\n$&'],
  ])('data %j arrives as %j', (data, arrived) => {
    const text = formatSseFields({ data })
    expect(onlyEvent(text)).toEqual({ data: arrived })
    expect(text).toMatch(/^(data: ?[^\r\n]*\n)+\n$/)
  })

  it('a byte order mark in the first data of a stream is no byte order mark of the stream', () => {
    const text = formatSseFields({ data: '\ufeffx' })
    expect(Buffer.from(text)[0]).not.toBe(0xef)
    expect(onlyEvent(text)).toEqual({ data: '\ufeffx' })
  })

  it('leaves an empty event out', () => {
    expect(formatSseFields({ event: '', data: 'x' })).toBe('data: x\n\n')
  })

  it.each([' leading', 'a:b', 'é', '\u2028', 'error', ': c'])('the event %j arrives', (event) => {
    expect(onlyEvent(formatSseFields({ event, data: '' })).event).toBe(event)
  })

  it.each(['7', 'a b', 'abc:7', '~!', 'x'.repeat(256), '0', ':'])('the id %j arrives', (id) => {
    expect(onlyEvent(formatSseFields({ id, data: '' })).id).toBe(id)
  })

  it.each([
    '',
    ' ',
    ' 7',
    '7 ',
    '1\n\nevent: admin',
    '1\r',
    '1\r\n',
    '1\0',
    '7\n',
    'é',
    '٣',
    '\u007f',
    '\t',
    'x'.repeat(257),
  ])('refuses the id %j', (id) => {
    expect(() => formatSseFields({ id, data: '' })).toThrow(TypeError)
    expect(() => formatSseFields({ id, data: '' })).toThrow(/\bid\b/)
  })

  it.each(['x\ndata: pwned\n\n', 'x\rdata: pwned', 'x\r\n', 'x\0', '\n'])('refuses the event %j', (event) => {
    expect(() => formatSseFields({ event, data: '' })).toThrow(TypeError)
    expect(() => formatSseFields({ event, data: '' })).toThrow(/\bevent\b/)
  })

  it.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53, '5', '0\r\nevent: a', null, 5n, new Number(5), [5]])(
    'refuses the retry %s',
    (retry) => {
      expect(() => formatSseFields({ retry: retry as never })).toThrow(TypeError)
      expect(() => formatSseFields({ retry: retry as never })).toThrow(/\bretry\b/)
      expect(() => formatSseFields({ retry: retry as never, data: 'x' })).toThrow(/\bretry\b/)
    },
  )

  it.each([{}, { id: undefined }, { event: '' }])('refuses %j, which is no field at all', (fields) => {
    expect(() => formatSseFields(fields)).toThrow(TypeError)
    expect(() => formatSseFields(fields)).toThrow(/fields/)
  })

  it.each(['id', 'event', 'data'])('refuses a wrong type for %s', (name) => {
    for (const value of [null, 5, true, Symbol('s'), () => 'x']) {
      expect(() => formatSseFields({ [name]: value })).toThrow(TypeError)
      expect(() => formatSseFields({ [name]: value })).toThrow(new RegExp(`\\b${name}\\b`))
    }
  })

  it.each([null, undefined])('refuses %j for the fields', (fields) => {
    expect(() => formatSseFields(fields as never)).toThrow(TypeError)
    expect(() => formatSseFields(fields as never)).toThrow(/fields/)
  })
})

describe('an object given for text', () => {
  it('is converted', () => {
    const fields = { id: new String('7'), event: new String('note'), data: new String('a\nb') }
    expect(onlyEvent(formatSseFields(fields as never))).toEqual({ id: '7', event: 'note', data: 'a\nb' })
    expect(read(formatSseComment(new String('hi') as never)).comments).toEqual(['hi'])
  })

  it('is converted once, and what came of it is what is checked', () => {
    for (const name of ['id', 'event', 'data']) {
      const value = shifty('clean', 'x\n\ndata: pwned\n\n')
      const { events } = read(formatSseFields({ data: 'd', [name]: value }))
      expect(events).toHaveLength(1)
      expect(events[0]).toMatchObject({ [name]: 'clean' })
      expect(value.asked).toBe(1)
    }
    expect(() => formatSseFields({ id: shifty('x\n', 'clean') as never })).toThrow(TypeError)
    expect(() => formatSseFields({ event: shifty('x\n', 'clean') as never })).toThrow(TypeError)
  })
})

describe('formatSseComment', () => {
  it('prefixes every line', () => {
    expect(formatSseComment('hi')).toBe(': hi\n\n')
    expect(formatSseComment('')).toBe(': \n\n')
    expect(formatSseComment('a\nb\rc\r\nd')).toBe(': a\n: b\n: c\n: d\n\n')
    expect(read(formatSseComment('hi\n\ndata: x')).comments).toEqual(['hi', '', 'data: x'])
  })

  it('tells a client nothing, and leaves its cursor', () => {
    const { events, ids, retries } = read(formatSseComment('').repeat(3))
    expect({ events, ids, retries }).toEqual({ events: [], ids: [], retries: [] })
  })

  it.each([undefined, null, 5, true, () => 'x'])('refuses %s', (text) => {
    expect(() => formatSseComment(text as never)).toThrow(TypeError)
    expect(() => formatSseComment(text as never)).toThrow(/comment/)
  })
})

describe('formatSseRetry', () => {
  it('is one block', () => {
    expect(formatSseRetry(3000)).toBe('retry: 3000\n\n')
    expect(read(formatSseRetry(0)).retries).toEqual([0])
    expect(formatSseRetry(Number.MAX_SAFE_INTEGER)).toBe('retry: 9007199254740991\n\n')
  })

  it.each([-1, 1.5, Number.NaN, Infinity, 1e21, '5', '0\r\nevent: a', null, undefined, 5n, new Number(5)])(
    'refuses %s',
    (ms) => {
      expect(() => formatSseRetry(ms as never)).toThrow(TypeError)
      expect(() => formatSseRetry(ms as never)).toThrow(/retry/)
    },
  )
})

describe('a heartbeat event', () => {
  it('reaches a listener of its name three times in three beats, and leaves the cursor', () => {
    const stream = formatSseCursor({ id: 7 }) + formatSseFields({ event: 'heartbeat', data: '{}' }).repeat(3)
    const { events, ids } = read(stream)
    expect(events.filter(({ event }) => event === 'heartbeat')).toHaveLength(3)
    expect(ids).toEqual(['7'])
  })
})

describe('blocks', () => {
  it('end with the blank line that dispatches them, and hold no other', () => {
    const blocks = [
      formatSseFrame({ id: 1, v: 1, type: 'chunk', data: '\n\n' }),
      formatSseCursor({ id: 1 }),
      formatSseFields({ data: '\n\n\r\r\r\n\r\n' }),
      formatSseComment('\n\n\r\r'),
      formatSseRetry(1),
    ]
    for (const block of blocks) {
      expect(block.endsWith('\n\n')).toBe(true)
      expect(block.slice(0, -2)).not.toMatch(/\n\n|\r/)
    }
  })
})
