/**
 * Faults that operators of such systems reported in public, retold as they happened to them; each title names the
 * report. The general rule behind each is tested beside its neighbours in the other files.
 */

import { describe, expect, it } from 'vitest'
import { EventBus, isControlFrame, SubscriberLimitExceededError } from '../../src/index.ts'
import { busWith, observedBus, publish } from '../support/bus.ts'
import { complete, DONE, EPOCH, evicted } from '../support/frames.ts'
import { drained, framesOf, rawFramesOf } from '../support/reading.ts'

describe('publishing', () => {
  it('a publish from inside a callback reordered events (phetsims/axon #447)', async () => {
    const bus: EventBus = new EventBus({
      onDiagnostic: (report) => {
        if (report.type === 'client_evicted') bus.publish({ type: 'from eviction' })
        if (report.type === 'slow_client_warning') bus.publish({ type: 'from warning' })
      },
    })
    const watcher = bus.subscribe()
    bus.subscribe({
      filter: (event) => event.type === 'first' && bus.publish({ type: 'second' }) !== undefined,
    })
    const late = bus.subscribe()
    bus.subscribe({ maxQueued: 1 })
    bus.publish({ type: 'first' })
    const seen = async (subscription: typeof watcher) =>
      (await drained(subscription)).values.map((frame) => [frame.id, frame.type])
    const expected = [
      [1, 'first'],
      [2, 'second'],
      [3, 'from warning'],
      [4, 'from eviction'],
    ]
    expect(await seen(watcher)).toEqual(expected)
    expect(await seen(late)).toEqual(expected)
    const replayed = await drained(bus.subscribe({ lastEventId: 0 }))
    expect(replayed.values.map((frame) => frame.id)).toEqual([1, 2, 3, 4, undefined])
  })

  it('one subscriber that threw silenced the rest (AxonIQ/AxonFramework #4883)', async () => {
    const errors: unknown[] = []
    const bus: EventBus = new EventBus({
      onDiagnostic: (report) => {
        if (report.type === 'callback_error') errors.push(report.error)
        throw new Error('the hook throws too')
      },
    })
    const failing = bus.subscribe({
      filter: (event) => {
        if (event.id === 1) throw new Error('first')
        return true
      },
    })
    const rest = bus.subscribe()
    expect(publish(bus, 2)).toEqual([1, 2])
    expect(errors).toEqual([new Error('first')])
    expect(await framesOf(rest)).toEqual([1, 2])
    expect(await framesOf(failing)).toEqual([2])
  })

  it('a subscriber changed what others and the replay see (ros-claw/rosclaw #183)', async () => {
    const bus = busWith(0)
    const [a, b] = [bus.subscribe(), bus.subscribe()]
    bus.publish({ type: 'state', data: { x: 1 } })
    const event = (await a.next()).value as { id: number; type: string }
    for (const change of [
      () => Object.assign(event, { id: 9 }),
      () => Object.assign(event, { type: 'forged' }),
      () => Object.assign(event, { data: {} }),
      () => Object.assign(event, { extra: 1 }),
    ]) {
      expect(change).toThrow(TypeError)
    }
    expect((await b.next()).value).toEqual({ id: 1, v: 1, type: 'state', data: { x: 1 } })
    expect((await bus.subscribe({ lastEventId: 0 }).next()).value).toMatchObject({ id: 1, type: 'state' })
  })

  it('one way of publishing never reached iterators (sindresorhus/emittery #126)', async () => {
    const bus = busWith(0)
    const like: { publish(input: { type: string }): unknown } = bus
    const all = bus.subscribe()
    const some = bus.subscribe({ filter: (event) => event.type === 'tick' })
    const batches = bus.subscribe().batches()
    bus.publish({ type: 'tick' })
    like.publish({ type: 'tick' })
    bus.subscribe({ filter: (event) => event.id === 3 && bus.publish({ type: 'tick' }) !== undefined })
    bus.publish({ type: 'tick' })
    expect(await framesOf(all)).toEqual([1, 2, 3, 4])
    expect(await framesOf(some)).toEqual([1, 2, 3, 4])
    expect((await batches.next()).value?.map((frame) => frame.id)).toEqual([1, 2, 3, 4])
  })

  it('a type named like a member of objects crashed the bus (openai/openai-node #2315)', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a.__proto__.b']
    const bus = busWith(0)
    const subscription = bus.subscribe()
    for (const type of names) expect(bus.publish({ type, data: type })?.type).toBe(type)
    expect((await rawFramesOf(subscription)).map((frame) => frame.type)).toEqual(names)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

describe('slow consumers', () => {
  it('a stalled reader grew without bound (anomalyco/opencode #16697)', async () => {
    const { bus, reports } = observedBus({ ringSize: 100, maxRingBytes: 1_048_576 })
    let asked = 0
    const stalled = bus.subscribe({
      maxQueued: 100,
      maxQueuedBytes: 1_048_576,
      filter: () => {
        asked++
        return true
      },
    })
    const others = Array.from({ length: 10 }, () => bus.subscribe({ warnings: false }))
    const received = others.map(() => 0)
    for (let i = 0; i < 30; i++) {
      for (let j = 0; j < 100; j++) {
        bus.publish({ type: 'chunk', data: 'x'.repeat(2048) })
        expect(stalled.queued).toBeLessThanOrEqual(100)
        expect(stalled.queuedBytes).toBeLessThanOrEqual(1_048_576)
      }
      for (const [index, other] of others.entries()) {
        const batch = await other.batches().next()
        received[index] = (received[index] ?? 0) + (batch.value?.length ?? 0)
      }
    }
    expect(received).toEqual(others.map(() => 3000))
    expect(reports.filter((report) => report.type === 'client_evicted')).toHaveLength(1)
    expect(asked).toBe(101)
  })

  it('foreign traffic filled a queue that filtered on reading (anomalyco/opencode #31107)', () => {
    const { bus, reports } = observedBus()
    const subscription = bus.subscribe({ maxQueued: 2, filter: (event) => event.type.startsWith('a.') })
    for (let i = 0; i < 100; i++) bus.publish({ type: 'b.x', data: i })
    expect([subscription.queued, subscription.closed, reports]).toEqual([0, false, []])
  })

  it('a warning repeated itself, and took the last slot (QwenLM/qwen-code #4237)', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 8 })
    const warned = () => bus.stats().warned
    const drainTo = async (left: number) => {
      while (subscription.queued > left) await subscription.next()
    }
    publish(bus, 6)
    for (let i = 0; i < 20; i++) {
      await drainTo(5)
      publish(bus, 2)
      await drainTo(6)
    }
    expect(warned()).toBe(1)
    await drainTo(4)
    publish(bus, 2)
    expect(warned()).toBe(1)
    await drainTo(3)
    publish(bus, 3)
    expect(warned()).toBe(2)
    publish(bus, 2)
    expect([subscription.queued, subscription.closed]).toEqual([8, false])
    publish(bus, 1)
    expect(subscription.closed).toBe(true)
  })

  it('an eviction looked like a clean end (jito-labs/shredstream-proxy #68)', async () => {
    const bus = busWith(0)
    const subscription = bus.subscribe({ maxQueued: 2, warnings: false })
    publish(bus, 5)
    const frames = await framesOf(subscription)
    expect(frames).toEqual([
      1,
      2,
      evicted({ reason: 'queue_overflow', droppedAfter: 2, queueSize: 2, maxQueued: 2 }),
      DONE,
    ])
    expect(await framesOf(bus.subscribe({ lastEventId: 2, epoch: EPOCH }))).toEqual([3, 4, 5, complete(3, 5)])
  })

  it('newcomers threw out those who were connected (cluesmith/codev #1126)', async () => {
    const bus = busWith(0, { maxSubscribers: 2 })
    const connected = [bus.subscribe(), bus.subscribe()]
    for (let attempt = 0; attempt < 20; attempt++) {
      expect(() => bus.subscribe()).toThrow(SubscriberLimitExceededError)
      publish(bus, 1)
    }
    for (const subscription of connected) {
      const frames = await rawFramesOf(subscription)
      expect(frames.filter(isControlFrame)).toEqual([])
      expect(frames).toHaveLength(20)
    }
    expect(bus.stats().evicted).toBe(0)
  })
})
