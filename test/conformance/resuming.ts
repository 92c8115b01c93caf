import { describe, expect, it } from 'vitest'
import { complete, DONE, EPOCH, range, resync } from '../support/frames.ts'
import { mismatch, type Row, resumeTable } from '../support/resume-table.ts'
import { beforeNext, nextFrame, ofBus, publish, Reports, read, rest, unbatched, type World } from './world.ts'

// Where ids start is the log's business.
const table = resumeTable.filter((row) => row.startAfterId === undefined)

export function resuming({ open, busWith, has }: World): void {
  async function subscribed(row: Row) {
    const bus = await busWith(row.published, { ringSize: row.ring })
    if (row.ended === true) await bus.end()
    const { epoch } = row.cursor
    const cursor = epoch === EPOCH ? { ...row.cursor, epoch: bus.epoch } : row.cursor
    return { bus, frames: ofBus(bus, row.frames), subscription: bus.subscribe(cursor) }
  }

  describe('a resumed stream', () => {
    it.each(table)('$title', async (row) => {
      const { bus, frames, subscription } = await subscribed(row)
      expect(await read(subscription, frames.length)).toEqual(frames)
      if (!row.ended) expect(await beforeNext(bus, subscription)).toEqual([])
    })

    it.each(table)('read as batches, the same: $title', async (row) => {
      const { bus, frames, subscription } = await subscribed(row)
      const stream = unbatched(subscription)
      expect(await read(stream, frames.length)).toEqual(frames)
      if (!row.ended) expect(await beforeNext(bus, stream)).toEqual([])
    })

    it('is in the epoch that its cursor names, where that is the right one, from wherever it resumes', async () => {
      const bus = await busWith(6)
      for (const lastEventId of range(0, 6)) {
        const subscription = bus.subscribe({ lastEventId, epoch: bus.epoch })
        const ids = range(lastEventId + 1, 6)
        const told = ids.length === 0 ? complete(0) : complete(ids.length, 6)
        expect(await read(subscription, ids.length + 1)).toEqual([...ids, told])
      }
    })

    it('has no lastReplayedEventId where nothing was replayed', async () => {
      const frame = await nextFrame((await busWith(3)).subscribe({ lastEventId: 3 }))
      expect(frame).toEqual({ v: 1, type: 'replay_complete', data: { replayedCount: 0 } })
      expect(Object.keys(frame?.data as object)).toEqual(['replayedCount'])
      expect('id' in (frame as object)).toBe(false)
    })

    it('has a detail only where the epoch differs', async () => {
      const frame = await nextFrame((await busWith(3)).subscribe({ lastEventId: 9 }))
      const keys = ['earliestAvailableId', 'epoch', 'lastDeliveredId', 'reason']
      expect(Object.keys(frame?.data as object).sort()).toEqual(keys)
    })

    it('may be long', async () => {
      const bus = await busWith(600)
      const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 1 })
      expect(await read(subscription, 601)).toEqual([...range(1, 600), complete(600, 600)])
    })

    it('may be one of many', async () => {
      const bus = await busWith(5)
      const streams = range(1, 50).map(() => bus.subscribe({ lastEventId: 2 }))
      for (const stream of streams) expect(await read(stream, 4)).toEqual([3, 4, 5, complete(3, 5)])
    })
  })

  describe('what is published between subscribe and the first read', () => {
    it('is live: behind the replay, once', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publish(bus, 2)
      expect(subscription.queued).toBe(2)
      expect(await read(subscription, 6)).toEqual([1, 2, 3, complete(3, 3), 4, 5])
    })

    it('comes between no two frames of the replay', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ lastEventId: 0 })
      expect(await read(subscription, 2)).toEqual([1, 2])
      await publish(bus, 1)
      expect(await read(subscription, 3)).toEqual([3, complete(3, 3), 4])
    })

    it('is live with from, too', async () => {
      const bus = await busWith(3)
      const subscription = bus.subscribe({ from: 'earliest' })
      await publish(bus, 1)
      expect(await read(subscription, 5)).toEqual([1, 2, 3, complete(3, 3), 4])
    })
  })

  describe('the epoch', () => {
    it('is a name of the log, and no two logs have the same', async () => {
      const [a, b] = [await busWith(0), await busWith(2)]
      expect(a.epoch).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(a.epoch).not.toBe(b.epoch)
      const subscription = b.subscribe({ lastEventId: 1, epoch: a.epoch })
      const frames = [resync('epoch_reset', 1, 1, { epoch: b.epoch, ...mismatch }), 1, 2, complete(2, 2)]
      expect(await read(subscription, 4)).toEqual(frames)
    })

    it('without a cursor is ignored', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe({ epoch: 'another' })
      expect(await beforeNext(bus, subscription)).toEqual([])
    })

    it('reset leaves nothing of the stale cursor armed: live ids below it are delivered', async () => {
      const bus = await busWith(2)
      const subscription = bus.subscribe({ lastEventId: 50 })
      const frames = [resync('epoch_reset', 50, 1, { epoch: bus.epoch }), 1, 2, complete(2, 2)]
      expect(await read(subscription, 4)).toEqual(frames)
      expect(await publish(bus, 2)).toEqual([3, 4])
      expect(await read(subscription, 2)).toEqual([3, 4])
    })
  })

  describe('while the ring moves on', () => {
    it('what comes live is not lost, though the ring has let go of it', async () => {
      const bus = await busWith(2, { ringSize: 2 })
      const subscription = bus.subscribe({ lastEventId: 2, epoch: bus.epoch })
      await publish(bus, 5)
      expect(await read(subscription, 6)).toEqual([complete(0), ...range(3, 7)])
    })

    it('a gap that is told ends where live begins', async () => {
      const bus = await busWith(3, { ringSize: 3 })
      const subscription = bus.subscribe({ lastEventId: 0 })
      await publish(bus, 5)
      const [first] = await read(subscription, 1)
      if (first === 1) expect(await read(subscription, 3)).toEqual([2, 3, complete(3, 3)])
      else {
        expect(has('lasting replay')).toBe(false)
        expect(first).toEqual(resync('ring_evicted', 0, 4, { epoch: bus.epoch }))
        expect(await read(subscription, 1)).toEqual([complete(0)])
      }
      expect(await read(subscription, 5)).toEqual(range(4, 8))
    })

    if (has('lasting replay')) {
      it('a replay that was begun is complete', async () => {
        const bus = await busWith(3, { ringSize: 3 })
        const subscription = bus.subscribe({ lastEventId: 0 })
        expect(await read(subscription, 1)).toEqual([1])
        await publish(bus, 9)
        expect(await read(subscription, 12)).toEqual([2, 3, complete(3, 3), ...range(4, 12)])
      })
    }
  })

  it('of a bus that was closed is over, behind what can still be read', async () => {
    const bus = await busWith(3)
    const subscription = bus.subscribe({ lastEventId: 0 })
    expect(await read(subscription, 1)).toEqual([1])
    await bus.close()
    const frames = await rest(subscription)
    const whole = [2, 3, complete(3, 3), DONE]
    if (has('lasting replay')) expect(frames).toEqual(whole)
    else expect(frames).toEqual([...whole.slice(0, frames.length - 1), DONE])
  })

  it('reports a resync, with the data of the frame', async () => {
    const reports = new Reports()
    const { bus } = await open({ ringSize: 2, onDiagnostic: reports.onDiagnostic })
    await publish(bus, 5)
    const frame = await nextFrame(bus.subscribe({ lastEventId: 1 }))
    expect(await reports.first('state_resync_required')).toEqual([{ type: frame?.type, data: frame?.data }])
    expect(bus.stats().resyncs).toBe(1)
  })
}
