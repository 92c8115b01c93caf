import { describe, expect, it } from 'vitest'
import { EVENT_SCHEMA_VERSION, EventBus, isControlFrame } from '../../src/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { EPOCH } from '../support/frames.ts'
import { rawFramesOf, take, takeRaw } from '../support/reading.ts'

describe('the envelope of an event', () => {
  it('has the schema version of the package', () => {
    expect([new EventBus().publish({ type: 'a' })?.v, EVENT_SCHEMA_VERSION]).toEqual([1, 1])
  })

  it('without data has no value for it', () => {
    expect(new EventBus().publish({ type: 'done' })?.data).toBeUndefined()
  })

  it('is one object for the publisher and every subscriber', async () => {
    const bus = new EventBus()
    const [a, b] = [bus.subscribe(), bus.subscribe()]
    const event = bus.publish({ type: 'a', data: {} })
    expect((await takeRaw(a, 1))[0]).toBe(event)
    expect((await takeRaw(b, 1))[0]).toBe(event)
    expect((await takeRaw(bus.subscribe({ lastEventId: 0 }), 1))[0]).toBe(event)
  })
})

describe('ids', () => {
  it('go on from startAfterId', () => {
    const bus = new EventBus({ startAfterId: 100 })
    expect(bus.lastEventId).toBe(100)
    expect(bus.earliestAvailableId).toBe(101)
    expect(publish(bus, 2)).toEqual([101, 102])
    expect(bus.earliestAvailableId).toBe(101)
  })
})

describe('control frames', () => {
  async function everyControlFrame() {
    const bus = busWith(3, { ringSize: 1 })
    const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
    publish(bus, 2)
    const frames = await rawFramesOf(subscription)
    return frames.filter(isControlFrame)
  }

  it('have the envelope of events without the id key', async () => {
    const frames = await everyControlFrame()
    expect(frames.map((frame) => frame.type)).toEqual([
      'state_resync_required',
      'replay_complete',
      'slow_client_warning',
      'client_evicted',
    ])
    for (const frame of frames) expect(Object.keys(frame)).toEqual(['v', 'type', 'data'])
    for (const frame of frames) expect(frame.v).toBe(1)
  })

  it('are frozen like events', async () => {
    for (const frame of await everyControlFrame()) expect(Object.isFrozen(frame)).toBe(true)
  })

  it('do not move the cursor of a subscription', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 1 })
    publish(bus, 2)
    await take(subscription, 1)
    expect([subscription.lastDeliveredId, subscription.epoch]).toEqual([1, EPOCH])
    await take(subscription, 2)
    expect([subscription.lastDeliveredId, subscription.epoch]).toEqual([1, EPOCH])
  })

  it('are told from events by isControlFrame', () => {
    for (const type of [
      'slow_client_warning',
      'client_evicted',
      'state_resync_required',
      'replay_complete',
      'stream_error',
    ]) {
      expect(isControlFrame({ v: 1, type, data: {} } as never)).toBe(true)
    }
    expect(isControlFrame({ id: 1, v: 1, type: 'tick', data: 1 } as never)).toBe(false)
    expect(isControlFrame({ id: 1, v: 1, type: 'client_evicted', data: 1 } as never)).toBe(false)
    expect(isControlFrame({ v: 1, type: 'tick', data: 1 } as never)).toBe(false)
  })
})
