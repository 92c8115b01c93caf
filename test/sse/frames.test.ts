import { describe, expect, it } from 'vitest'
import { isControlFrame } from '../../src/core/event.ts'
import type { Frame } from '../../src/index.ts'
import { formatSseFrame, type SseFrameOptions } from '../../src/sse/index.ts'
import { shown } from '../support/shown.ts'
import { onlyEvent, read, shifty } from '../support/sse-stream.ts'

/** A frame as somebody writes it by hand: also one that no type allows. */
function frame(fields: Record<string, unknown>): Frame {
  return { v: 1, type: 'chunk', data: null, ...fields } as Frame
}

const CONTROL_TYPES = [
  'slow_client_warning',
  'client_evicted',
  'state_resync_required',
  'replay_complete',
  'stream_error',
]

const FORMS: SseFrameOptions[] = [
  {},
  { data: 'payload' },
  { event: false },
  { data: 'payload', event: true },
  { epoch: 'abc' },
]

describe('an event', () => {
  it('has its id, its type and its whole envelope', () => {
    expect(formatSseFrame(frame({ id: 7, data: { a: 1 } }))).toBe(
      'id: 7\nevent: chunk\ndata: {"id":7,"v":1,"type":"chunk","data":{"a":1}}\n\n',
    )
  })

  it('has the epoch in its id where one is given', () => {
    expect(formatSseFrame(frame({ id: 7 }), { epoch: 'abc' })).toMatch(/^id: abc:7\nevent: chunk\n/)
    expect(formatSseFrame(frame({ id: 7 }), { epoch: undefined })).toMatch(/^id: 7\n/)
  })

  it('is its data alone as a payload, without an event line', () => {
    expect(formatSseFrame(frame({ id: 7, data: { a: 1 } }), { data: 'payload' })).toBe(
      'id: 7\ndata: {"a":1}\n\n',
    )
  })

  it('has or lacks its event line as asked', () => {
    expect(formatSseFrame(frame({ id: 7 }), { event: false })).not.toContain('event:')
    expect(formatSseFrame(frame({ id: 7 }), { data: 'payload', event: true })).toBe(
      'id: 7\nevent: chunk\ndata: null\n\n',
    )
  })

  it.each(['error', 'open'])('of type %s never has an event line', (type) => {
    for (const options of [...FORMS, { event: true }]) {
      expect(formatSseFrame(frame({ id: 7, type }), options)).not.toContain('event:')
    }
    expect(onlyEvent(formatSseFrame(frame({ id: 7, type }))).data).toContain(`"type":"${type}"`)
  })

  it.each(['errors', 'Error', 'opened', 'constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'of type %s has one',
    (type) => {
      expect(onlyEvent(formatSseFrame(frame({ id: 7, type }))).event).toBe(type)
    },
  )

  it('has no id line where the frame has no id', () => {
    expect(formatSseFrame(frame({}))).toBe('event: chunk\ndata: {"v":1,"type":"chunk","data":null}\n\n')
    expect(formatSseFrame(frame({ id: undefined }), { epoch: 'abc', data: 'payload' })).toBe('data: null\n\n')
  })

  it('may have the id 0', () => {
    expect(formatSseFrame(frame({ id: 0 }), { data: 'payload' })).toBe('id: 0\ndata: null\n\n')
  })
})

describe('the envelope', () => {
  it('has its keys in order, however the frame was written', () => {
    const shuffled = {
      extra: 9,
      _meta: { m: 1 },
      path: 'p',
      data: 'd',
      system: 's',
      type: 'chunk',
      originatorClientId: 'o',
      v: 1,
      id: 7,
      more: null,
    }
    const { data } = onlyEvent(formatSseFrame(shuffled as unknown as Frame))
    expect(data).toBe(
      '{"id":7,"v":1,"type":"chunk","data":"d","originatorClientId":"o","system":"s","path":"p","_meta":{"m":1},' +
        '"extra":9,"more":null}',
    )
  })

  it('leaves out what JSON leaves out behind data', () => {
    const { data } = onlyEvent(
      formatSseFrame(frame({ id: 7, data: 1, path: undefined, a: undefined, b: () => 1, c: Symbol('c') })),
    )
    expect(data).toBe('{"id":7,"v":1,"type":"chunk","data":1}')
  })

  it('calls no toJSON of the frame itself', () => {
    let calls = 0
    const { data } = onlyEvent(formatSseFrame(frame({ id: 7, data: 1, path: 'p', toJSON: () => calls++ })))
    expect(data).toBe('{"id":7,"v":1,"type":"chunk","data":1,"path":"p"}')
    expect(calls).toBe(0)
  })

  it('keeps keys that are numbers, or named as properties of every object', () => {
    const extra = JSON.parse('{"0":"zero","__proto__":{"x":1},"constructor":2,"toString":3}')
    const { data } = onlyEvent(
      formatSseFrame(Object.defineProperties(frame({ id: 7 }), Object.getOwnPropertyDescriptors(extra))),
    )
    expect(Object.entries(JSON.parse(data)).sort()).toEqual(
      Object.entries({ id: 7, v: 1, type: 'chunk', data: null, ...extra }).sort(),
    )
  })
})

describe('data', () => {
  const nothing: [string, unknown][] = [
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['an object whose toJSON gives undefined', { toJSON: () => undefined }],
  ]

  it.each(nothing)('is null where JSON gives nothing for %s', (_, data) => {
    expect(formatSseFrame(frame({ id: 7, data }), { data: 'payload' })).toBe('id: 7\ndata: null\n\n')
    expect(onlyEvent(formatSseFrame(frame({ id: 7, data }))).data).toBe(
      '{"id":7,"v":1,"type":"chunk","data":null}',
    )
  })

  it('is null where the frame has none', () => {
    const { data, ...rest } = frame({ id: 7 }) as { data: unknown }
    expect(onlyEvent(formatSseFrame({ ...rest, path: 'p' } as unknown as Frame)).data).toBe(
      '{"id":7,"v":1,"type":"chunk","data":null,"path":"p"}',
    )
  })

  it.each([
    [null, 'null'],
    ['', '""'],
    [0, '0'],
    [false, 'false'],
    [Number.NaN, 'null'],
    [[], '[]'],
    ['a\r\nb', '"a\\r\\nb"'],
    ['\u2028', '"\u2028"'],
  ])('%j is %s', (data, json) => {
    expect(onlyEvent(formatSseFrame(frame({ id: 7, data }), { data: 'payload' })).data).toBe(json)
    expect(onlyEvent(formatSseFrame(frame({ id: 7, data }))).data).toBe(
      `{"id":7,"v":1,"type":"chunk","data":${json}}`,
    )
  })

  it('that JSON cannot carry throws what JSON throws', () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    for (const data of [1n, circular]) {
      expect(() => formatSseFrame(frame({ id: 7, data }))).toThrow(TypeError)
      expect(() => formatSseFrame(frame({ id: 7, data }), { data: 'payload' })).toThrow(TypeError)
    }
  })
})

describe.each(CONTROL_TYPES)('the control frame %s', (type) => {
  const control = frame({ type, data: { reason: 'r' } })

  it('has its event line and no id line, whatever is asked', () => {
    expect(isControlFrame(control)).toBe(true)
    for (const options of FORMS) {
      const { id, event } = onlyEvent(formatSseFrame(control, options))
      expect({ id, event }).toEqual({ id: undefined, event: type })
    }
  })

  it('has no id line even where somebody gave it an id', () => {
    for (const options of FORMS) expect(read(formatSseFrame(frame({ type, id: 7 }), options)).ids).toEqual([])
  })

  it('is its envelope, or its data alone', () => {
    expect(onlyEvent(formatSseFrame(control)).data).toBe(`{"v":1,"type":"${type}","data":{"reason":"r"}}`)
    expect(onlyEvent(formatSseFrame(control, { data: 'payload' })).data).toBe('{"reason":"r"}')
  })
})

describe('what a hand-written frame holds begins no line of its own', () => {
  it.each(['x\ndata: pwned\n\n', 'x\rdata: pwned', 'x\r\n', 'x\0', '\n'])(
    'the type %j is refused',
    (type) => {
      expect(() => formatSseFrame(frame({ id: 7, type }))).toThrow(TypeError)
      expect(() => formatSseFrame(frame({ id: 7, type }))).toThrow(/type/)
    },
  )

  it.each(
    shown<unknown>([
      '1\n\nevent: admin',
      '1\r',
      '1',
      '',
      'abc',
      -1,
      1.5,
      Number.NaN,
      Infinity,
      2 ** 53,
      null,
      7n,
      {},
      shifty('1'),
    ]),
  )('the id %s is refused', (_, id) => {
    for (const type of ['chunk', 'replay_complete']) {
      expect(() => formatSseFrame(frame({ id, type }))).toThrow(TypeError)
      expect(() => formatSseFrame(frame({ id, type }), { epoch: 'abc' })).toThrow(/id/)
    }
  })

  it.each(shown([undefined, null, 5, true, Symbol('type')]))('the type %s is refused', (_, type) => {
    for (const options of FORMS) {
      expect(() => formatSseFrame(frame({ id: 7, type }), options)).toThrow(TypeError)
    }
  })

  it('a type that converts differently each time is converted once', () => {
    const type = shifty('clean', 'x\ndata: pwned')
    expect(onlyEvent(formatSseFrame(frame({ id: 7, type }), { event: true, data: 'payload' }))).toEqual({
      id: '7',
      event: 'clean',
      data: 'null',
    })
    expect(type.asked).toBe(1)
    expect(() => formatSseFrame(frame({ id: 7, type: shifty('x\n') }))).toThrow(TypeError)
    expect(formatSseFrame(frame({ id: 7, type: new String('error') }), { event: true })).not.toContain(
      'event:',
    )
  })

  it.each(shown(['1}\n\nevent: admin\ndata: {', '1\rid: 9', { toString: (): string => '\n' }, undefined]))(
    'the version %s is JSON, or left out',
    (_, v) => {
      const { event, data, id } = onlyEvent(formatSseFrame(frame({ id: 7, v })))
      expect({ event, id }).toEqual({ event: 'chunk', id: '7' })
      expect(JSON.parse(data)).toMatchObject({ id: 7, type: 'chunk', data: null })
    },
  )

  it('keys and values behind data are JSON', () => {
    const { data } = onlyEvent(formatSseFrame(frame({ id: 7, 'k\n\nevent: x': 'v\r\nid: 1' })))
    expect(JSON.parse(data)['k\n\nevent: x']).toBe('v\r\nid: 1')
  })
})

describe('bad options are refused by name', () => {
  it.each<[string, unknown]>([
    ['data', { data: 'foo' }],
    ['data', { data: '' }],
    ['data', { data: null }],
    ['data', { data: 'toString' }],
    ['data', { data: new String('payload') }],
    ['event', { event: 'x' }],
    ['event', { event: 1 }],
    ['event', { event: null }],
    ['event', { event: new Boolean(false) }],
    ['epoch', { epoch: '' }],
    ['epoch', { epoch: 'a b' }],
    ['epoch', { epoch: 'a:b' }],
    ['epoch', { epoch: 'a\n' }],
    ['epoch', { epoch: 'a\n\nevent: admin' }],
    ['epoch', { epoch: 'ä' }],
    ['epoch', { epoch: 'e'.repeat(65) }],
    ['epoch', { epoch: null }],
    ['epoch', { epoch: 5 }],
    ['epoch', { epoch: true }],
    ['options', null],
    ['options', 'payload'],
    ['options', 5],
  ])('%s: %j', (name, options) => {
    expect(() => formatSseFrame(frame({ id: 7 }), options as never)).toThrow(TypeError)
    expect(() => formatSseFrame(frame({ id: 7 }), options as never)).toThrow(new RegExp(`\\b${name}\\b`))
  })

  it.each([null, undefined, 'chunk', 5])('and so is %j for a frame', (given) => {
    expect(() => formatSseFrame(given as never)).toThrow(TypeError)
    expect(() => formatSseFrame(given as never)).toThrow(/frame|type/)
  })

  it('undefined is the default of each', () => {
    expect(formatSseFrame(frame({ id: 7 }), { epoch: undefined, data: undefined, event: undefined })).toBe(
      formatSseFrame(frame({ id: 7 })),
    )
    expect(formatSseFrame(frame({ id: 7 }), undefined)).toBe(formatSseFrame(frame({ id: 7 })))
  })
})
