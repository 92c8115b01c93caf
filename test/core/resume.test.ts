import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { type BusOptions, busWith, publish } from '../support/bus.ts'
import { complete, EPOCH, resync } from '../support/frames.ts'
import { framesOf } from '../support/reading.ts'
import { type Row, resumeTable } from '../support/resume-table.ts'

function prepared(row: Row): EventBus {
  const options: BusOptions = { ringSize: row.ring }
  if (row.startAfterId !== undefined) options.startAfterId = row.startAfterId
  const bus = busWith(row.published, options)
  if (row.ended === true) bus.end()
  return bus
}

/** Where ids begin belongs to the log of a backend; the other rows are of every bus. */
const ownRows = resumeTable.filter((row) => row.startAfterId !== undefined)

describe('a resumed stream', () => {
  it.each(ownRows)('$title', async (row) => {
    const subscription = prepared(row).subscribe(row.cursor)
    expect(await framesOf(subscription)).toEqual(row.frames)
  })

  it.each(ownRows)('read as batches, the same: $title', async (row) => {
    const subscription = prepared(row).subscribe(row.cursor)
    const flat = async function* () {
      for await (const batch of subscription.batches()) yield* batch
    }
    expect(await framesOf(flat())).toEqual(row.frames)
  })

  it.each(resumeTable.filter((row) => row.ended !== true))('goes on live behind it: $title', async (row) => {
    const bus = prepared(row)
    const subscription = bus.subscribe(row.cursor)
    const live = publish(bus, 3)
    expect(await framesOf(subscription)).toEqual([...row.frames, ...live])
  })
})

describe('an epoch reset', () => {
  it('does not happen to a bus that was given the old epoch and goes on with its ids', async () => {
    const before = busWith(5)
    const after = new EventBus({ epoch: before.epoch, startAfterId: before.lastEventId })
    expect(after.epoch).toBe(EPOCH)
    const caughtUp = after.subscribe({ lastEventId: 5, epoch: before.epoch })
    const behind = after.subscribe({ lastEventId: 3, epoch: before.epoch })
    publish(after, 1)
    expect(await framesOf(caughtUp)).toEqual([complete(0), 6])
    expect(await framesOf(behind)).toEqual([resync('ring_evicted', 3, 6), complete(0), 6])
  })
})
