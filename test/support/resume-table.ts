/** The rows of resuming, for every bus that has them: what is published, the cursor, and what is read then. */

import type { SubscribeOptions } from '../../src/index.ts'
import { complete, DONE, EPOCH, type Notation, resync } from './frames.ts'

export interface Row {
  ring: number
  published: number
  cursor: Pick<SubscribeOptions, 'lastEventId' | 'epoch' | 'from'>
  /** Where the bus is named `EPOCH`. */
  frames: Notation[]
  startAfterId?: number
  ended?: boolean
}

/** What a resync frame has beside its reason where the cursor named another epoch. */
export const mismatch = { detail: 'epoch_mismatch' }

/** The exact sequence that a consumer reads when nothing more is published. */
const rows: Row[] = [
  { ring: 3, published: 5, cursor: {}, frames: [] },
  {
    ring: 3,
    published: 5,
    cursor: { lastEventId: 0 },
    frames: [resync('ring_evicted', 0, 3), 3, 4, 5, complete(3, 5)],
  },
  {
    ring: 3,
    published: 5,
    cursor: { lastEventId: 1 },
    frames: [resync('ring_evicted', 1, 3), 3, 4, 5, complete(3, 5)],
  },
  { ring: 3, published: 5, cursor: { lastEventId: 2 }, frames: [3, 4, 5, complete(3, 5)] },
  { ring: 3, published: 5, cursor: { lastEventId: 3 }, frames: [4, 5, complete(2, 5)] },
  { ring: 3, published: 5, cursor: { lastEventId: 5 }, frames: [complete(0)] },
  {
    ring: 3,
    published: 5,
    cursor: { lastEventId: 6 },
    frames: [resync('epoch_reset', 6, 3), 3, 4, 5, complete(3, 5)],
  },
  { ring: 3, published: 0, cursor: { lastEventId: 0 }, frames: [complete(0)] },
  {
    ring: 3,
    published: 0,
    cursor: { lastEventId: 5 },
    frames: [resync('epoch_reset', 5, 1), complete(0)],
  },
  { ring: 1, published: 3, cursor: { lastEventId: 2 }, frames: [3, complete(1, 3)] },
  {
    ring: 1,
    published: 3,
    cursor: { lastEventId: 1 },
    frames: [resync('ring_evicted', 1, 3), 3, complete(1, 3)],
  },
  { ring: 0, published: 3, cursor: { lastEventId: 3 }, frames: [complete(0)] },
  {
    ring: 0,
    published: 3,
    cursor: { lastEventId: 2 },
    frames: [resync('ring_evicted', 2, 4), complete(0)],
  },
  {
    ring: 0,
    published: 3,
    cursor: { lastEventId: 4 },
    frames: [resync('epoch_reset', 4, 4), complete(0)],
  },
  {
    ring: 10,
    published: 3,
    cursor: { lastEventId: 2, epoch: 'another' },
    frames: [resync('epoch_reset', 2, 1, mismatch), 1, 2, 3, complete(3, 3)],
  },
  { ring: 10, published: 3, cursor: { lastEventId: 2, epoch: EPOCH }, frames: [3, complete(1, 3)] },
  { ring: 3, published: 5, cursor: { from: 'earliest' }, frames: [3, 4, 5, complete(3, 5)] },
  { ring: 3, published: 5, cursor: { from: { last: 2 } }, frames: [4, 5, complete(2, 5)] },
  {
    ring: 3,
    published: 0,
    startAfterId: 100,
    cursor: { lastEventId: 50 },
    frames: [resync('ring_evicted', 50, 101), complete(0)],
  },
  { ring: 3, published: 0, startAfterId: 100, cursor: { lastEventId: 100 }, frames: [complete(0)] },
  {
    ring: 3,
    published: 0,
    startAfterId: 100,
    cursor: { lastEventId: 101 },
    frames: [resync('epoch_reset', 101, 101), complete(0)],
  },
  { ring: 3, published: 5, ended: true, cursor: { lastEventId: 4 }, frames: [5, complete(1, 5), DONE] },
  // What follows from the same rules.
  {
    ring: 3,
    published: 5,
    cursor: { lastEventId: 9, epoch: 'another' },
    frames: [resync('epoch_reset', 9, 3, mismatch), 3, 4, 5, complete(3, 5)],
  },
  {
    ring: 3,
    published: 5,
    cursor: { lastEventId: 0, epoch: 'another' },
    frames: [resync('epoch_reset', 0, 3, mismatch), 3, 4, 5, complete(3, 5)],
  },
  {
    ring: 3,
    published: 5,
    cursor: { lastEventId: 6, epoch: EPOCH },
    frames: [resync('epoch_reset', 6, 3), 3, 4, 5, complete(3, 5)],
  },
  { ring: 3, published: 5, cursor: { from: { last: 0 } }, frames: [complete(0)] },
  { ring: 3, published: 5, cursor: { from: { last: 3 } }, frames: [3, 4, 5, complete(3, 5)] },
  { ring: 3, published: 5, cursor: { from: { last: 99 } }, frames: [3, 4, 5, complete(3, 5)] },
  { ring: 3, published: 0, cursor: { from: 'earliest' }, frames: [complete(0)] },
  { ring: 0, published: 5, cursor: { from: 'earliest' }, frames: [complete(0)] },
  { ring: 0, published: 5, cursor: { from: { last: 2 } }, frames: [complete(0)] },
  {
    ring: 3,
    published: 5,
    cursor: { from: 'earliest', epoch: 'another' },
    frames: [3, 4, 5, complete(3, 5)],
  },
  {
    ring: 3,
    published: 5,
    ended: true,
    cursor: { from: 'earliest' },
    frames: [3, 4, 5, complete(3, 5), DONE],
  },
  { ring: 3, published: 5, ended: true, cursor: {}, frames: [DONE] },
  { ring: 3, published: 5, ended: true, cursor: { lastEventId: 5 }, frames: [complete(0), DONE] },
]

export const resumeTable = rows.map((row) => {
  const since = row.startAfterId === undefined ? '' : ` from ${row.startAfterId + 1}`
  const title = `ring ${row.ring}, ${row.published} published${since}${row.ended ? ', ended' : ''}, ${JSON.stringify(row.cursor)}`
  return { ...row, title }
})
