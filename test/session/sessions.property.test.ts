import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Frame } from '../../src/index.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'
import { FENCE, flushed } from '../support/session.ts'
import { type Step, World } from '../support/session-world.ts'

const lost = fc.nat({ max: 6 })
const plain = (name: 'reply' | 'hold' | 'release' | 'open' | 'read' | 'refuse') =>
  fc.constant({ do: name } as const)

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 3, arbitrary: plain('reply') },
    { weight: 2, arbitrary: plain('hold') },
    { weight: 4, arbitrary: plain('release') },
    { weight: 2, arbitrary: plain('open') },
    { weight: 2, arbitrary: plain('read') },
    { weight: 1, arbitrary: plain('refuse') },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const), lost }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('connect' as const), lost, held: fc.boolean() }) },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 30 }) }),
    },
  ),
  { maxLength: 40, size: 'max' },
)

async function played(world: World, plan: Step[]): Promise<World> {
  for (const step of plan) {
    await world.take(step)
    expect(world.bus.subscriberCount).toBeLessThanOrEqual(1)
  }
  await world.finish()
  expect(world.session.state).toBe('attached')
  expect(world.attached).toBe(1)
  return world
}

/** Each reply as often as it was read, the first time of each counting for the order. */
function repliesOf(world: World): string[] {
  return world.read.map(({ message }) => message).filter((one) => typeof one === 'string')
}

const idsOf = (world: World) => world.read.flatMap(({ id }) => (id === undefined ? [] : [id]))

/** What a reply follows: an event that was published before it and was read later is out of order. */
function expectRepliesBehindTheirEvents(world: World): void {
  for (const [text, head] of world.replies) {
    const at = world.read.findIndex(({ message }) => message === text)
    const late = world.read.slice(at).filter(({ id }) => id !== undefined && id <= head)
    expect(late, `events before ${text} that came behind it`).toEqual([])
  }
}

function expectNothingLeft(world: World): void {
  const { session, hooks } = world
  session.close()
  session.close()
  world.bus.close()
  expect(hooks.close).toBe(1)
  expect(hooks.expire).toBeUndefined()
  expect(world.bus.subscriberCount).toBe(0)
  expect(session.signal.aborted).toBe(true)
}

describe('whatever is published, replied, cut, taken over and come back to', () => {
  it(
    'a client with a cursor has every event once, in order, and every reply behind the events before it',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, fc.constantFrom(2, 256), async (plan, maxQueued) => {
          const world = await played(new World({ withCursor: true, maxQueued }), plan)
          expect(idsOf(world)).toEqual(world.published)
          const replies = repliesOf(world)
          expect([...new Set(replies)]).toEqual([...world.replies.keys()])
          expectRepliesBehindTheirEvents(world)
          expect(world.unasked).toEqual([])
          expect(world.early).toEqual([])
          expect(world.read.some(({ message }) => (message as Frame).type === FENCE)).toBe(false)
          expectNothingLeft(world)
        }),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'a client without a cursor has every event and every reply that a transport took once, in its place',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, fc.constantFrom(2, 256), async (plan, maxQueued) => {
          const world = await played(new World({ withCursor: false, maxQueued }), plan)
          expect(idsOf(world)).toEqual(world.published)
          expect(repliesOf(world)).toEqual([...world.replies.keys()])
          for (const [text, head] of world.replies) {
            const at = world.read.findIndex(({ message }) => message === text)
            const before = world.read.slice(0, at).flatMap(({ id }) => (id === undefined ? [] : [id]))
            expect(before.filter((id) => id <= head)).toEqual(world.published.filter((id) => id <= head))
          }
          expect(world.read.some(({ message }) => (message as Frame).type === 'replay_complete')).toBe(false)
          expectNothingLeft(world)
        }),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'where the ring is too small, ids only rise, each gap is told, and no reply is lost',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, fc.boolean(), fc.nat({ max: 4 }), async (plan, withCursor, ringSize) => {
          const world = await played(new World({ withCursor, ringSize, maxQueued: 2 }), plan)
          let at = 0
          const isKnown = new Set(world.published)
          for (const { id, message } of world.read) {
            const frame = message as Frame
            if (id !== undefined) {
              const missed = [...isKnown].filter((one) => one > at && one < id)
              expect(missed, `events between ${at} and ${id}`).toEqual([])
              expect(id).toBeGreaterThan(at)
              at = id
            } else if (frame.type === 'state_resync_required') {
              at = Math.max(at, (frame.data as { earliestAvailableId: number }).earliestAvailableId - 1)
            }
          }
          expect([...new Set(repliesOf(world))]).toEqual([...world.replies.keys()])
          expectRepliesBehindTheirEvents(world)
          expectNothingLeft(world)
        }),
        runs(300),
      )
    },
    PROPERTY_TIMEOUT,
  )

  it(
    'leaves hooks that add up, and nothing behind',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, fc.boolean(), async (plan, withCursor) => {
          const world = new World({ withCursor })
          for (const step of plan) await world.take(step)
          await flushed()
          const { detach = 0, reclaim = 0 } = world.hooks
          expect(detach - reclaim).toBe(world.session.state === 'detached' && detach > 0 ? 1 : 0)
          expectNothingLeft(world)
        }),
        runs(200),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
