import { describe, expect, it, vi } from 'vitest'
import type { Frame } from '../../src/index.ts'
import { fakeTime, flushed, pass, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

/** A transport that took its first cursor and holds everything from then on. */
async function heldIn(scene: Scene): Promise<FakeTransport> {
  const transport = await scene.attach()
  transport.held = true
  return transport
}

describe('a transport that does not take', () => {
  it('has one send at a time: the rest stays on the bus', async () => {
    const scene = new Scene()
    const transport = await heldIn(scene)
    await scene.publish(5)
    expect(transport.pending.map((one) => one.note)).toEqual([1])
    expect(scene.bus.stats().subscribers[0]?.queued).toBe(4)
    transport.release()
    await flushed()
    expect(transport.pending.map((one) => one.note)).toEqual([2])
  })

  it('is evicted by the bus and goes on by itself: every event once, in order, and no word of it', async () => {
    const scene = new Scene({}, { maxQueued: 2 })
    const transport = await heldIn(scene)
    await scene.publish(10)
    expect(scene.bus.stats().evicted).toBe(1)
    transport.open()
    await flushed()
    expect(transport.shown.filter((one) => one !== 'slow_client_warning')).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
    expect(transport.closes).toEqual([])
    await scene.publish(1)
    expect(transport.shown.at(-1)).toBe(11)
    expect(scene.bus.subscriberCount).toBe(1)
  })

  it('is told once of what the ring no longer has when it goes on', async () => {
    const scene = new Scene({}, { maxQueued: 2, ringSize: 2 })
    const transport = await heldIn(scene)
    await scene.publish(10)
    transport.open()
    await flushed()
    expect(transport.shown.filter((one) => one !== 'slow_client_warning')).toEqual([
      1,
      2,
      3,
      'state_resync_required',
      9,
      10,
    ])
  })

  it('and was evicted has replies in their place', async () => {
    const scene = new Scene({}, { maxQueued: 2 })
    const transport = await heldIn(scene)
    await scene.publish(6)
    await scene.reply('R')
    await scene.publish(2)
    transport.open()
    await flushed()
    expect(transport.shown.filter((one) => one !== 'slow_client_warning')).toEqual([
      1,
      2,
      3,
      4,
      5,
      6,
      'R',
      7,
      8,
    ])
  })

  it('and is outrun in its replay gets all of it, one `replay_complete`, and a reply behind that', async () => {
    const scene = new Scene({}, { maxQueued: 2 })
    await scene.publish(4)
    const transport = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 0 }, transport)
    await scene.publish(6)
    await scene.reply('R')
    transport.open()
    await flushed()
    expect(transport.shown.filter((one) => one !== 'slow_client_warning')).toEqual([
      ...[1, 2, 3, 4],
      'replay_complete',
      ...[5, 6, 7, 8, 9, 10],
      'R',
    ])
  })

  it('is detached where an evicted pump finds no slot, and the session stays', async () => {
    const scene = new Scene({}, { maxQueued: 2, maxSubscribers: 1 })
    const transport = await heldIn(scene)
    await scene.publish(6)
    const other = scene.bus.subscribe()
    transport.open()
    await flushed()
    expect(scene.session.state).toBe('detached')
    expect(transport.isClosed).toBe(true)
    await other.return()
    const next = await scene.attach()
    expect([...transport.shown, ...next.shown].filter((one) => one !== 'slow_client_warning')).toEqual([
      1, 2, 3, 4, 5, 6,
    ])
  })
})

describe('a stalled send', () => {
  it('closes the transport after 30 s and detaches; the session stays', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: Infinity })
    const transport = await heldIn(scene)
    await scene.publish(1)
    expect(scene.session.state).toBe('attached')
    await scene.stays(30_000)
    expect(scene.session.state).toBe('detached')
    expect(transport.isClosed).toBe(true)
    expect(scene.hooks).toEqual(['detach'])
    expect((await scene.attach()).shown).toEqual([1])
  })

  it('is measured from its own start', async () => {
    fakeTime()
    const scene = new Scene({ stallTimeoutMs: 100 })
    const transport = await scene.attach()
    await pass(90)
    transport.held = true
    await scene.publish(1)
    expect(scene.session.state).toBe('attached')
    await scene.stays(100)
    expect(scene.session.state).toBe('detached')
  })

  it('is none where every send is taken in time', async () => {
    fakeTime()
    const scene = new Scene({ stallTimeoutMs: 100 })
    const transport = await heldIn(scene)
    for (let n = 1; n <= 5; n++) {
      await scene.publish(1)
      await pass(99)
      transport.release()
      await flushed()
    }
    expect(scene.session.state).toBe('attached')
    expect(transport.shown).toEqual([1, 2, 3, 4, 5])
  })

  it('is not watched with `stallTimeoutMs: 0`', async () => {
    fakeTime()
    const scene = new Scene({ stallTimeoutMs: 0 })
    await heldIn(scene)
    await scene.publish(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('never keeps an idle transport from living', async () => {
    fakeTime()
    const scene = new Scene()
    await scene.attach()
    await pass(1_000_000)
    expect(scene.session.state).toBe('attached')
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('translating', () => {
  it('makes the message, and keeps the id', async () => {
    const scene = new Scene({ translate: (frame) => `${frame.type} ${frame.data}` })
    const transport = await scene.attach()
    await scene.publish(1)
    expect(transport.messages).toEqual([{ message: 'tick 1', id: 1 }])
  })

  it('is asked of control frames too', async () => {
    const types: string[] = []
    const translate = (frame: Frame) => {
      types.push(frame.type)
    }
    const scene = new Scene({ translate }, { ringSize: 1 })
    await scene.publish(3)
    await scene.attach({ lastEventId: 0 })
    expect(types).toEqual(['state_resync_required', 'tick', 'replay_complete'])
  })

  it('to undefined counts as taken, and the next cursor says so', async () => {
    const scene = new Scene({ translate: ({ id }) => (id === 2 || id === 3 ? undefined : 'm') })
    const first = await scene.attach()
    await scene.publish(3)
    expect(first.taken).toEqual(['cursor 0', 1, 'cursor 3'])
    await scene.drop(first)
    await scene.publish(1)
    expect((await scene.attach()).taken).toEqual([4])
  })

  it('to undefined holds no reply back', async () => {
    const scene = new Scene({ translate: () => undefined })
    const transport = await scene.attach()
    await scene.publish(2)
    await scene.reply('R')
    expect(transport.shown).toEqual(['R'])
  })

  it('to undefined of `replay_complete` releases the replies all the same', async () => {
    const scene = new Scene({ translate: (frame) => (frame.id === undefined ? undefined : frame) })
    await scene.publish(1)
    await scene.reply('R')
    expect((await scene.attach({ lastEventId: 0 })).shown).toEqual([1, 'R'])
  })

  it('that throws is reported, and counts as undefined', async () => {
    const error = new Error('translate')
    const scene = new Scene({
      translate: (frame) => {
        if (frame.id === 1) throw error
        return frame
      },
    })
    const transport = await scene.attach()
    await scene.publish(2)
    expect(transport.shown).toEqual([2])
    expect(scene.reports).toEqual([{ type: 'callback_error', error }])
  })

  it('that closes the session sends nothing more', async () => {
    const scene: Scene = new Scene({
      translate: (frame) => {
        scene.session.close()
        return frame
      },
    })
    const transport = await scene.attach()
    await scene.publish(2)
    expect(transport.shown).toEqual([])
  })
})

describe('a send that fails', () => {
  it('on a transport that is still open closes it and detaches: nothing is lost', async () => {
    const scene = new Scene()
    const transport = await heldIn(scene)
    await scene.publish(2)
    transport.refuse()
    await flushed()
    expect(scene.session.state).toBe('detached')
    expect(transport.closes).toEqual([undefined])
    expect((await scene.attach()).shown).toEqual([1, 2])
  })

  it('by throwing is the same', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    transport.send = () => {
      throw new Error('broken')
    }
    await scene.publish(1)
    expect(scene.session.state).toBe('detached')
    expect((await scene.attach()).shown).toEqual([1])
  })

  it('for an event that JSON cannot carry tells it as lost, and goes on', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    const send = transport.send.bind(transport)
    transport.send = async (message, id) => {
      JSON.stringify(message)
      return send(message, id)
    }
    await scene.publish(1)
    scene.bus.publish({ type: 'big', data: 2n })
    await flushed()
    expect(transport.taken).toEqual(['cursor 0', 1, 'state_resync_required', 'cursor 2'])
    expect(transport.messages.at(-1)?.message).toEqual({
      v: 1,
      type: 'state_resync_required',
      data: {
        reason: 'not_serialisable',
        lastDeliveredId: 1,
        earliestAvailableId: 3,
        epoch: scene.bus.epoch,
      },
    })
    await scene.publish(1)
    expect(transport.shown.at(-1)).toBe(3)
    expect(scene.reports).toEqual([{ type: 'event_not_serialisable', id: 2, eventType: 'big' }])
  })
})
