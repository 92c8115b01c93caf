import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { envelopeJson, keptOf, payloadJson, stamp } from '../../src/internal/kept.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const stamped = <E extends object>(event: E): E => {
  stamp(event)
  return Object.freeze(event)
}

describe('what is kept with an event', () => {
  it('stays with that object, frozen or not', () => {
    const event = stamped({ id: 1, v: 1, type: 'a', data: 1 })
    expect(keptOf(event)).toBe(keptOf(event))
  })

  it('is not shared with a copy, nor with another event', () => {
    const event = stamped({ id: 1, v: 1, type: 'a', data: 1 })
    expect(keptOf({ ...event })).not.toBe(keptOf(event))
    expect(keptOf(stamped({ ...event }))).not.toBe(keptOf(event))
  })

  it('is a fresh record for an object that no bus made', () => {
    const foreign = { id: 1, v: 1, type: 'a', data: 1 }
    expect(keptOf(foreign)).not.toBe(keptOf(foreign))
    expect(envelopeJson(foreign)).toBe('{"id":1,"v":1,"type":"a","data":1}')
  })

  it('does not show: neither in keys nor in JSON', () => {
    const event = stamped({ id: 1, v: 1, type: 'a', data: 1 })
    envelopeJson(event)
    expect(Reflect.ownKeys(event)).toEqual(['id', 'v', 'type', 'data'])
    expect(JSON.stringify(event)).toBe('{"id":1,"v":1,"type":"a","data":1}')
  })
})

describe('the JSON of an event', () => {
  it('has the keys in the order of the envelope, whatever their order in the event', () => {
    const event = {
      zebra: 1,
      path: 'p',
      id: 7,
      data: { b: 1 },
      system: 's',
      _meta: {},
      v: 1,
      type: 'a',
      originatorClientId: 'c',
    }
    expect(envelopeJson(event)).toBe(
      '{"id":7,"v":1,"type":"a","data":{"b":1},"originatorClientId":"c","system":"s","path":"p","_meta":{},"zebra":1}',
    )
  })

  it('has no id for a control frame', () => {
    expect(envelopeJson({ v: 1, type: 'replay_complete', data: { replayedCount: 0 } })).toBe(
      '{"v":1,"type":"replay_complete","data":{"replayedCount":0}}',
    )
  })

  it.each([undefined, () => 1, Symbol('s'), { toJSON: () => undefined }])(
    'has data null where JSON gives nothing: %s',
    (data) => {
      expect(payloadJson({ type: 'a', data })).toBe('null')
      expect(envelopeJson({ id: 1, v: 1, type: 'a', data })).toBe('{"id":1,"v":1,"type":"a","data":null}')
    },
  )

  it('leaves out a further key for which JSON gives nothing', () => {
    expect(envelopeJson({ id: 1, v: 1, type: 'a', data: 1, fn: () => 1, gone: undefined, kept: 2 })).toBe(
      '{"id":1,"v":1,"type":"a","data":1,"kept":2}',
    )
  })

  it('is made once in both forms between them', () => {
    const toJSON = vi.fn(() => 'json')
    const event = stamped({ id: 1, v: 1, type: 'a', data: { toJSON } })
    for (let i = 0; i < 3; i++) {
      expect(payloadJson(event)).toBe('"json"')
      expect(envelopeJson(event)).toBe('{"id":1,"v":1,"type":"a","data":"json"}')
    }
    expect(toJSON).toHaveBeenCalledTimes(1)
  })

  it("calls no toJSON that is a key of the publisher's own", () => {
    const event = { id: 1, v: 1, type: 'a', data: 1, toJSON: () => 'mine' }
    expect(JSON.parse(envelopeJson(event))).toEqual({ id: 1, v: 1, type: 'a', data: 1 })
  })

  it('throws what JSON throws', () => {
    expect(() => envelopeJson({ id: 1, v: 1, type: 'a', data: 1n })).toThrow(TypeError)
    expect(() => payloadJson({ type: 'a', data: { n: 1n } })).toThrow(TypeError)
  })

  it(
    'is what JSON.stringify gives, for any event',
    () => {
      fc.assert(
        fc.property(
          fc.string({ unit: 'binary', minLength: 1 }),
          fc.jsonValue(),
          fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
          (type, data, extra) => {
            const { id: _id, v: _v, type: _type, data: _data, toJSON: _toJSON, ...rest } = extra
            const event = { id: 5, v: 1, type, data, ...rest }
            expect(JSON.parse(envelopeJson(event))).toEqual(JSON.parse(JSON.stringify(event)))
          },
        ),
        runs(200),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
