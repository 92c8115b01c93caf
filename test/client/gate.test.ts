import { describe, expect, it } from 'vitest'
import { createResyncGate, type ResyncGate } from '../../src/client/index.ts'
import type { Frame } from '../../src/index.ts'
import { brief, COMPLETE, event, events, loads, resync } from '../support/gate-frames.ts'
import { flush } from '../support/reading.ts'

const overflow = (earliestAvailableId: number, epoch = 'e1') => ({
  v: 1,
  type: 'state_resync_required',
  data: { reason: 'gate_overflow', earliestAvailableId, epoch },
})

const pushAll = (gate: ResyncGate, frames: Frame[]) => brief(frames.flatMap((frame) => gate.push(frame)))

describe('an open gate', () => {
  it('lets every frame through as it is', () => {
    const gate = createResyncGate()
    const frame = event(1)
    expect(gate.shut).toBe(false)
    expect(gate.push(frame)).toEqual([frame])
    expect(gate.push(frame)[0]).toBe(frame)
    expect(gate.push(COMPLETE)).toEqual([COMPLETE])
  })

  it('opens no further, and checks the cursor all the same', () => {
    const gate = createResyncGate()
    expect(gate.resynced(7)).toEqual([])
    expect(() => gate.resynced(-1)).toThrow(RangeError)
    expect(pushAll(gate, events(3, 4))).toEqual([3, 4])
  })
})

describe('a resync frame', () => {
  it('comes through, shuts the gate, and everything with an id is held', () => {
    const gate = createResyncGate()
    expect(pushAll(gate, [event(1), resync(), ...events(5, 7)])).toEqual([1, 'ring_evicted'])
    expect(gate.shut).toBe(true)
  })

  it('lets control frames through while shut', () => {
    const gate = createResyncGate()
    expect(pushAll(gate, [resync(), event(5), COMPLETE])).toEqual(['ring_evicted', 'replay_complete'])
  })

  it('is told by its own type only: an event that looks alike has an id', () => {
    const gate = createResyncGate()
    gate.push({ ...resync(), id: 4 } as unknown as Frame)
    expect(gate.shut).toBe(false)
  })

  it('calls onResync before it is given away, with the frame', () => {
    const { onResync } = loads()
    const gate = createResyncGate({ onResync })
    const frame = resync()
    gate.push(frame)
    expect(onResync.mock.calls).toEqual([[frame]])
  })
})

describe('resynced', () => {
  it.each([
    ['a number', 6],
    ['a bare cursor', '6'],
    ['a cursor of the same epoch', 'e1:6'],
  ])('releases what is above %s in order, and drops the rest', (_name, cursor) => {
    const gate = createResyncGate()
    pushAll(gate, [resync(), ...events(5, 9)])
    expect(brief(gate.resynced(cursor))).toEqual([7, 8, 9])
    expect(gate.shut).toBe(false)
    expect(pushAll(gate, [event(10)])).toEqual([10])
    expect(gate.resynced(cursor)).toEqual([])
  })

  it.each([
    [0, [5, 6]],
    [4, [5, 6]],
    [6, []],
    [100, []],
  ])('to %i of 5 and 6 releases %j', (cursor, released) => {
    const gate = createResyncGate()
    pushAll(gate, [resync(), event(5), event(6)])
    expect(brief(gate.resynced(cursor))).toEqual(released)
  })

  it('drops what comes later and is not above the cursor, until the next resync', () => {
    const gate = createResyncGate({ passthrough: ({ id, type }) => id === undefined || type === 'chat' })
    pushAll(gate, [resync(), event(5)])
    expect(gate.resynced(8)).toEqual([])
    expect(pushAll(gate, [event(6), event(7, 'chat'), event(8), COMPLETE, event(9)])).toEqual([
      7,
      'replay_complete',
      9,
    ])
    pushAll(gate, [resync(1, 'e2'), event(1), event(2)])
    expect(brief(gate.resynced('e2:0'))).toEqual([1, 2])
    expect(pushAll(gate, [event(3)])).toEqual([3])
  })

  it('to a cursor of another epoch changes nothing', () => {
    const gate = createResyncGate()
    pushAll(gate, [resync(5, 'e1'), resync(1, 'e2'), event(1), event(2)])
    expect(gate.resynced('e1:9')).toEqual([])
    expect(gate.shut).toBe(true)
    expect(brief(gate.resynced('e2:1'))).toEqual([2])
  })

  it.each([['x'], [''], ['a b:1'], ['e1:'], ['e1:01'], [-1], [1.5], [Number.NaN], [Infinity], [2 ** 53]])(
    'to %s throws a RangeError and leaves the gate as it is',
    (cursor) => {
      const gate = createResyncGate()
      pushAll(gate, [resync(), event(5)])
      expect(() => gate.resynced(cursor)).toThrow(new RangeError('cursor must be <id> or <epoch>:<id>'))
      expect(brief(gate.resynced(4))).toEqual([5])
    },
  )

  it.each([[null], [undefined], [{}], [5n], [true]])('to %s throws a TypeError', (cursor) => {
    expect(() => createResyncGate().resynced(cursor as never)).toThrow(
      /^cursor must be of type string or number, got/,
    )
    expect(() => createResyncGate().resynced(cursor as never)).toThrow(TypeError)
  })

  it('by hand voids the load that still runs', async () => {
    const { onResync, finish, fail } = loads()
    const gate = createResyncGate({ onResync })
    pushAll(gate, [resync(), event(5)])
    expect(brief(gate.resynced(4))).toEqual([5])
    pushAll(gate, [resync(9), event(9)])
    await finish(0, 8)
    expect(gate.shut).toBe(true)
    expect(brief(gate.resynced(8))).toEqual([9])
    await fail(1)
    expect(pushAll(gate, [event(10)])).toEqual([10])
  })
})

describe('onResync', () => {
  it('opens the gate with what it returns; the next push brings what was released', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    pushAll(gate, [resync(), ...events(5, 7)])
    await finish(0, 'e1:5')
    expect(gate.shut).toBe(false)
    expect(pushAll(gate, [COMPLETE, event(8)])).toEqual([6, 7, 'replay_complete', 8])
  })

  it('may return its cursor at once', async () => {
    const gate = createResyncGate({ onResync: () => 5 })
    pushAll(gate, [resync(), event(5), event(6)])
    expect(gate.shut).toBe(true)
    await flush()
    expect(pushAll(gate, [event(7)])).toEqual([6, 7])
  })

  it('may open the gate itself, also before it returns', () => {
    const gate: ResyncGate = createResyncGate({
      onResync: () => {
        gate.resynced(5)
      },
    })
    expect(pushAll(gate, [resync(), event(6)])).toEqual([6])
    expect(gate.shut).toBe(false)
  })

  it('that returns nothing leaves the gate shut', async () => {
    const gate = createResyncGate({ onResync: async () => {} })
    pushAll(gate, [resync(), event(5)])
    await flush()
    expect(pushAll(gate, [event(6)])).toEqual([])
    expect(brief(gate.resynced(5))).toEqual([6])
  })

  it('that returns a cursor of another epoch leaves the gate shut', async () => {
    const gate = createResyncGate({ onResync: () => 'e0:5' })
    pushAll(gate, [resync(), event(5)])
    await flush()
    expect(gate.shut).toBe(true)
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('load'))],
    [
      'throws',
      () => {
        throw new Error('load')
      },
    ],
  ])(
    'that %s leaves the gate shut; the next push throws, once, and loses nothing',
    async (_name, onResync) => {
      const gate = createResyncGate({ onResync })
      expect(pushAll(gate, [resync()])).toEqual(['ring_evicted'])
      await flush()
      expect(() => gate.push(COMPLETE)).toThrow('load')
      expect(gate.shut).toBe(true)
      expect(pushAll(gate, [event(5)])).toEqual(['replay_complete'])
      expect(brief(gate.resynced(4))).toEqual([5])
    },
  )

  it.each([
    ['junk', 'x', RangeError],
    ['null', null, TypeError],
  ])('that returns %s has failed', async (_name, cursor, error) => {
    const gate = createResyncGate({ onResync: () => cursor as never })
    gate.push(resync())
    await flush()
    expect(() => gate.push(event(5))).toThrow(error)
    expect(brief(gate.resynced(4))).toEqual([5])
  })
})

describe('a further resync while shut', () => {
  it('drops what is held, calls onResync again, and voids the earlier result', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    expect(pushAll(gate, [resync(), event(5), resync(9), event(9), event(10)])).toEqual([
      'ring_evicted',
      'ring_evicted',
    ])
    expect(onResync).toHaveBeenCalledTimes(2)
    await finish(0, 5)
    expect(gate.shut).toBe(true)
    await finish(1, 9)
    expect(pushAll(gate, [event(11)])).toEqual([10, 11])
  })

  it('voids an earlier rejection', async () => {
    const { onResync, finish, fail } = loads()
    const gate = createResyncGate({ onResync })
    pushAll(gate, [resync(), resync(9)])
    await fail(0)
    await finish(1, 8)
    expect(pushAll(gate, [event(9)])).toEqual([9])
  })

  it('drops what was released and not handed over: the state that is loaded next contains it', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    pushAll(gate, [resync(), event(5), event(6)])
    await finish(0, 4)
    expect(pushAll(gate, [resync(7)])).toEqual(['ring_evicted'])
  })
})

describe('more than maxHeld', () => {
  it('drops what is held, says so, and loads again', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync, maxHeld: 2 })
    expect(pushAll(gate, [resync(), event(5), event(6)])).toEqual(['ring_evicted'])
    const [frame, ...rest] = gate.push(event(7))
    expect(frame).toEqual(overflow(8))
    expect(Object.isFrozen(frame)).toBe(true)
    expect(rest).toEqual([])
    expect(onResync).toHaveBeenLastCalledWith(frame)
    await finish(0, 5)
    expect(gate.shut).toBe(true)
    await finish(1, 8)
    expect(pushAll(gate, [event(9)])).toEqual([9])
  })

  it('as often as that happens', () => {
    const gate = createResyncGate({ maxHeld: 1 })
    expect(pushAll(gate, [resync(), ...events(5, 10)])).toEqual([
      'ring_evicted',
      'gate_overflow',
      'gate_overflow',
      'gate_overflow',
    ])
  })

  it('is more than 1024', () => {
    const gate = createResyncGate()
    expect(pushAll(gate, [resync(), ...events(5, 1028)])).toEqual(['ring_evicted'])
    expect(gate.push(event(1029))).toEqual([overflow(1030)])
  })
})

describe('a resync frame that says nothing', () => {
  it.each([undefined, {}])('shuts the gate, and any cursor opens it: %j', (data) => {
    const gate = createResyncGate()
    const frame = { v: 1, type: 'state_resync_required', data } as unknown as Frame
    expect(gate.push(frame)).toEqual([frame])
    expect(gate.push(event(5))).toEqual([])
    expect(gate.resynced('any:4').map(({ id }) => id)).toEqual([5])
  })
})
