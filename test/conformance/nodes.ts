import { describe, expect, it } from 'vitest'
import type { Frame } from '../../src/index.ts'
import { complete, DONE, range } from '../support/frames.ts'
import { type ConformingBus, nextFrame, publish, publishEvent, read, rest, type World } from './world.ts'

/** Frames up to that event, without the `replay_complete`, which must be there once. */
async function eventsOfReplay(subscription: AsyncIterator<Frame>, lastId: number): Promise<unknown[]> {
  const frames: unknown[] = []
  while (frames.at(-1) !== lastId) frames.push(...(await read(subscription, 1)))
  // What this node had not reached yet as it was asked may be replayed or live.
  const ids = frames.filter((frame) => (frame as { type?: string }).type !== 'replay_complete')
  if (ids.length === frames.length)
    expect(await read(subscription, 1)).toMatchObject([{ type: 'replay_complete' }])
  else expect(frames.length - ids.length).toBe(1)
  return ids
}

export function nodes({ open }: World): void {
  describe('on one log', () => {
    async function two(options?: Parameters<typeof open>[0]): Promise<[ConformingBus, ConformingBus]> {
      const { bus, another } = await open(options)
      if (another === undefined) throw new Error("a backend that has 'several nodes' must give another")
      return [bus, await another()]
    }

    it('have one epoch', async () => {
      const [a, b] = await two()
      expect(a.epoch).toBe(b.epoch)
    })

    it('number their events together: each event once, in the same order on both', async () => {
      const [a, b] = await two()
      const streams = [a.subscribe(), b.subscribe()]
      const published = await Promise.all(
        range(1, 60).map((data) => publishEvent(data % 2 === 0 ? a : b, { type: 'tick', data })),
      )
      const ordered = [...published].sort((one, other) => one.id - other.id)
      expect(ordered.map((event) => event.id)).toEqual(range(1, 60))
      for (const stream of streams) {
        for (const event of ordered) expect(await nextFrame(stream)).toEqual(event)
      }
    })

    it('give an event to subscribers of every node', async () => {
      const [a, b] = await two()
      const [onA, onB] = [a.subscribe(), b.subscribe()]
      const event = await publishEvent(a, { type: 'a', data: { n: 1 }, _meta: { trace: 'x' } })
      expect(await nextFrame(onB)).toEqual(event)
      const answer = await publishEvent(b, { type: 'b' })
      expect(await nextFrame(onA)).toEqual(event)
      expect(await nextFrame(onA)).toEqual(answer)
    })

    it('know an event once it is read there', async () => {
      const [a, b] = await two()
      const subscription = b.subscribe()
      await publish(a, 3)
      expect(await read(subscription, 3)).toEqual([1, 2, 3])
      expect([b.lastEventId, b.earliestAvailableId]).toEqual([3, 1])
    })

    it('let a subscriber go on from the one to the other', async () => {
      const [a, b] = await two()
      const subscription = a.subscribe()
      const reader = b.subscribe()
      await publish(a, 5)
      await read(subscription, 2)
      await subscription.return()
      await read(reader, 5)
      const resumed = b.subscribe({ lastEventId: 2, epoch: subscription.epoch })
      await publish(a, 1)
      expect(await read(resumed, 5)).toEqual([3, 4, 5, complete(3, 5), 6])
    })

    it.each([0, 2, 3])(
      'wait for a cursor that they have not reached yet, and lose nothing: %d',
      async (cursor) => {
        const [a, b] = await two()
        await publish(a, 3)
        const resumed = b.subscribe({ lastEventId: cursor, epoch: a.epoch })
        const { id } = await publishEvent(a, { type: 'sentinel' })
        expect(await eventsOfReplay(resumed, id)).toEqual(range(cursor + 1, 4))
      },
    )

    it('tell a gap of the log alike', async () => {
      const [a, b] = await two({ ringSize: 2 })
      const reader = b.subscribe()
      await publish(a, 5)
      await read(reader, 5)
      for (const node of [a, b]) {
        expect(await read(node.subscribe({ lastEventId: 1 }), 4)).toMatchObject([
          { type: 'state_resync_required', reason: 'ring_evicted', earliestAvailableId: 4, epoch: a.epoch },
          4,
          5,
          complete(2, 5),
        ])
      }
    })

    it('bound and evict each its own subscribers', async () => {
      const [a, b] = await two()
      const [slow, quick] = [a.subscribe({ maxQueued: 1 }), b.subscribe()]
      await publish(a, 5)
      expect([a.subscriberCount, b.subscriberCount]).toEqual([0, 1])
      expect(slow.evicted).toBe(true)
      expect(await read(quick, 5)).toEqual(range(1, 5))
    })

    it('end together, once that is read', async () => {
      const [a, b] = await two()
      const subscription = b.subscribe()
      await publish(a, 2)
      await a.end()
      expect(await rest(subscription)).toEqual([1, 2, DONE])
      expect(b.ended).toBe(true)
      expect(await b.publish({ type: 'late' })).toBeUndefined()
      expect(await rest(b.subscribe({ lastEventId: 1 }))).toEqual([2, complete(1, 2), DONE])
    })

    it('publish nothing behind an end, also where it was not read yet', async () => {
      const [a, b] = await two()
      const subscription = a.subscribe()
      await publish(a, 1)
      await Promise.all([a.end(), b.publish({ type: 'a' }), b.publish({ type: 'b' })])
      const late = await b.publish({ type: 'late' })
      const frames = await rest(subscription)
      expect(frames).toEqual([...range(1, frames.length - 1), DONE])
      expect(late).toBeUndefined()
    })

    it('close each by itself', async () => {
      const [a, b] = await two()
      const [onA, onB] = [a.subscribe(), b.subscribe()]
      await publish(a, 1)
      await a.close()
      expect(await rest(onA)).toEqual([1, DONE])
      expect([b.closed, b.ended]).toEqual([false, false])
      await publish(b, 1)
      expect(await read(onB, 2)).toEqual([1, 2])
    })
  })
}
