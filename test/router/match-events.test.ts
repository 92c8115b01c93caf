import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { type EventPattern, matchEvents } from '../../src/router/index.ts'
import { observedBus } from '../support/bus.ts'
import { complete, DONE } from '../support/frames.ts'
import { naiveMatch } from '../support/naive-pattern.ts'
import { framesOf } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const subscribed = (patterns: EventPattern, bus = new EventBus()) => {
  const subscription = bus.subscribe({ filter: matchEvents(patterns) })
  return { bus, subscription }
}

describe('a filter by patterns', () => {
  it('lets every event through where everything is left out', async () => {
    for (const patterns of [{}, undefined]) {
      const { bus, subscription } = subscribed(patterns as EventPattern)
      bus.publish({ type: 'a' })
      bus.publish({ type: 'b', system: 's', path: 'p' })
      expect(await framesOf(subscription)).toEqual([1, 2])
    }
  })

  it.each([
    [{ system: '*' }, false],
    [{ path: '*' }, false],
    [{ system: 's' }, false],
    [{ path: '**.a' }, false],
    [{ system: '**' }, true],
    [{ path: '**' }, true],
    [{ path: '**.**' }, true],
  ])('%j on an event without system and path: %j', (patterns, match) => {
    const filter = matchEvents(patterns)
    const { bus, subscription } = subscribed(patterns)
    const event = bus.publish({ type: 'a' })
    expect(filter(event as never)).toBe(match)
    expect(subscription.queued).toBe(match ? 1 : 0)
  })

  it('takes an empty path for a path', () => {
    const { bus, subscription } = subscribed({ path: '**.**' })
    bus.publish({ type: 'a', path: '' })
    expect(subscription.queued).toBe(1)
    expect(matchEvents({ path: '*' })(bus.publish({ type: 'a', path: '' }) as never)).toBe(false)
  })

  it('lets no wildcard reach from one of system, type and path into the next', () => {
    const { bus, subscription } = subscribed({ system: 'a.**', type: '*', path: '**.z' })
    bus.publish({ type: 'x', system: 'a', path: 'b.z' })
    expect(subscription.queued).toBe(1)
    bus.publish({ type: 'x.y', system: 'a', path: 'z' })
    bus.publish({ type: 'z', system: 'a' })
    bus.publish({ type: 'a', path: 'z' })
    expect(subscription.queued).toBe(1)
  })

  it('takes what is no string for missing', () => {
    const { bus, subscription } = subscribed({ system: '*' })
    bus.publish({ type: 'a', system: 7 as never })
    bus.publish({ type: 'a', system: null as never })
    expect(subscription.queued).toBe(0)
  })

  it('takes names like any other', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const bus = new EventBus()
    const all = names.map((name) =>
      bus.subscribe({ filter: matchEvents({ type: `a.${name}.b`, system: name }) }),
    )
    bus.publish({ type: 'a.b', system: 'x' })
    for (const name of names) bus.publish({ type: `a.${name}.b`, system: name })
    for (const [at, subscription] of all.entries()) expect(await framesOf(subscription)).toEqual([at + 2])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it.each([
    ['type', 'a*'],
    ['system', ''],
    ['path', 'x.()'],
    ['path', null],
    ['type', 7],
  ])('refuses %s %j by name', (name, pattern) => {
    expect(() => matchEvents({ [name]: pattern })).toThrow(TypeError)
    expect(() => matchEvents({ [name]: pattern })).toThrow(name)
    expect(() => matchEvents(null as never)).toThrow(TypeError)
  })

  it('is an ordinary filter once it is wrapped', async () => {
    const bus = new EventBus()
    const matching = matchEvents({ type: 'a' })
    const subscription = bus.subscribe({ filter: (event) => !matching(event) })
    for (const type of ['a', 'b', 'a']) bus.publish({ type })
    expect(await framesOf(subscription)).toEqual([2])
  })

  it('is asked by a replay, and ends with its bus', async () => {
    const bus = new EventBus()
    for (const type of ['a', 'b', 'a']) bus.publish({ type })
    const subscription = bus.subscribe({ lastEventId: 0, filter: matchEvents({ type: 'a' }) })
    bus.publish({ type: 'b' })
    bus.publish({ type: 'a' })
    bus.end()
    expect(await framesOf(subscription)).toEqual([1, 3, complete(2, 3), 5, DONE])
  })

  const name = fc.constantFrom('a', 'b', 'c', '', '*')
  const text = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'))
  const segment = fc.constantFrom('a', 'b', '', '*', '**', '(a|b)', '(b|c)', '(c)')
  const pattern = fc
    .array(segment, { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join('.'))
    .filter((all) => all !== '')
  const patterns = fc.record(
    { system: pattern, type: pattern, path: pattern },
    { requiredKeys: [], noNullPrototype: true },
  )
  const event = fc.record(
    { type: text.filter((type) => type !== ''), system: text, path: text },
    { requiredKeys: ['type'], noNullPrototype: true },
  )
  const step = fc.oneof(
    { weight: 3, arbitrary: patterns.map((join) => ({ join })) },
    { weight: 1, arbitrary: fc.nat().map((leave) => ({ leave })) },
    { weight: 4, arbitrary: event.map((publish) => ({ publish })) },
  )

  it(
    'has its bus deliver, whoever joins and leaves, what a naive reading of the patterns matches',
    () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
          const { bus, reports } = observedBus()
          const all: {
            patterns: EventPattern
            expected: number
            stream: ReturnType<EventBus['subscribe']>
          }[] = []
          for (const one of steps) {
            if ('join' in one) {
              const stream = bus.subscribe({ filter: matchEvents(one.join) })
              all.push({ patterns: one.join, expected: 0, stream })
            } else if ('leave' in one) {
              const [left] = all.splice(one.leave % (all.length + 1), 1)
              void left?.stream.return()
            } else {
              const { system, type, path } = one.publish
              bus.publish(one.publish)
              for (const each of all) {
                const { patterns } = each
                const matching = (['system', 'type', 'path'] as const).every((key) =>
                  naiveMatch(patterns[key] ?? '**', { system, type, path }[key]),
                )
                if (matching) each.expected++
              }
            }
            expect(bus.subscriberCount).toBe(all.length)
          }
          expect(all.map(({ stream }) => stream.queued)).toEqual(all.map(({ expected }) => expected))
          expect(reports).toEqual([])
        }),
        runs(500),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
