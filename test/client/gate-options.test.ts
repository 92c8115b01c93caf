import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { createResyncGate, type ResyncGate } from '../../src/client/index.ts'
import type { Frame } from '../../src/index.ts'
import { brief, COMPLETE, event, events, resync } from '../support/gate-frames.ts'
import { settled } from '../support/reading.ts'

const _overflow = (earliestAvailableId: number, epoch = 'e1') => ({
  v: 1,
  type: 'state_resync_required',
  data: { reason: 'gate_overflow', earliestAvailableId, epoch },
})

const pushAll = (gate: ResyncGate, frames: Frame[]) => brief(frames.flatMap((frame) => gate.push(frame)))

describe('passthrough', () => {
  const gateFor = (passthrough: (frame: Frame) => boolean) => createResyncGate({ passthrough })

  it('names the frames that are not held', () => {
    const gate = gateFor(({ type }) => type === 'chat')
    expect(pushAll(gate, [resync(), event(5, 'chat'), event(6), COMPLETE])).toEqual(['ring_evicted', 5])
    expect(brief(gate.resynced(5))).toEqual([6, 'replay_complete'])
  })

  it('does not decide about resync frames', () => {
    const gate = gateFor(() => false)
    expect(pushAll(gate, [resync(), COMPLETE, resync(9), event(9)])).toEqual(['ring_evicted', 'ring_evicted'])
    expect(brief(gate.resynced(8))).toEqual([9])
  })

  it('is not asked while the gate is open', () => {
    const passthrough = vi.fn(() => false)
    expect(pushAll(gateFor(passthrough), [event(1), COMPLETE])).toEqual([1, 'replay_complete'])
    expect(passthrough).not.toHaveBeenCalled()
  })
})

describe('the options', () => {
  it.each([
    ['onResync', 5, TypeError],
    ['onResync', null, TypeError],
    ['passthrough', 'control', TypeError],
    ['maxHeld', '5', TypeError],
    ['maxHeld', 0, RangeError],
    ['maxHeld', 1.5, RangeError],
    ['maxHeld', Number.NaN, RangeError],
  ])('%s: %s is refused by name', (name, value, error) => {
    expect(() => createResyncGate({ [name]: value })).toThrow(error)
    expect(() => createResyncGate({ [name]: value })).toThrow(name)
  })

  it('must be an object, a frame too, and a source must be iterable', () => {
    expect(() => createResyncGate(null as never)).toThrow(TypeError)
    expect(() => createResyncGate().push(null as never)).toThrow('frame must be of type object, got null')
    expect(() => createResyncGate().through([] as never)).toThrow('source must be async iterable')
    expect(() => createResyncGate().through(undefined as never)).toThrow(TypeError)
  })

  it('take an infinite maxHeld', () => {
    const gate = createResyncGate({ maxHeld: Infinity })
    expect(pushAll(gate, [resync(), ...events(5, 2000)])).toEqual(['ring_evicted'])
  })
})

describe('the types', () => {
  interface Chat {
    said: { text: string }
    left: undefined
  }

  it('follow the event map', async () => {
    const gate = createResyncGate<Chat>({
      onResync: async (frame) => {
        expectTypeOf(frame.data.epoch).toBeString()
      },
      passthrough: ({ type }) => type === 'left',
    })
    for (const frame of gate.push({ id: 1, v: 1, type: 'said', data: { text: 'hi' } })) {
      if (frame.type === 'said') expectTypeOf(frame.data).toEqualTypeOf<{ text: string }>()
    }
    const none = (async function* (): AsyncGenerator<Frame<Chat>> {})()
    expectTypeOf(gate.through(none)).toExtend<AsyncIterable<Frame<Chat>>>()
    expect(await settled(gate.through(none).next())).toEqual({ value: { value: undefined, done: true } })
  })
})
