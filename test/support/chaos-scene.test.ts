import { describe, expect, it } from 'vitest'
import type { Frame } from '../../src/index.ts'
import { Books } from './chaos-scene.ts'

const event = (id: number, epoch = 'e1', n = id): Frame => ({
  id,
  v: 1,
  type: 'publisher-1',
  data: { epoch, publisher: 1, n, text: '' },
})
const resync = (
  reason: 'ring_evicted' | 'epoch_reset',
  earliestAvailableId: number,
  epoch = 'e1',
): Frame => ({
  v: 1,
  type: 'state_resync_required',
  data: { reason, lastDeliveredId: 0, earliestAvailableId, epoch },
})

function entered(...frames: Frame[]): Books {
  const books = new Books()
  for (const frame of frames) books.enter(frame)
  return books
}

describe('the books of a client', () => {
  it('add up what was received and what was announced as lost', () => {
    const books = entered(event(1), event(2), resync('ring_evicted', 5), event(5))
    expect(books).toMatchObject({ last: 5, received: 3, announced: 2, resyncs: 1, epochs: 1 })
  })

  it('begin anew with an announced epoch, in front of its first event', () => {
    const books = entered(event(1), resync('epoch_reset', 1, 'e2'), event(1, 'e2', 2))
    expect(books).toMatchObject({ epoch: 'e2', last: 1, received: 1, announced: 0, epochs: 2 })
  })

  it.each<[string, Frame[], string]>([
    ['an event that is missing', [event(1), event(3)], '3 came behind 1'],
    ['an event that comes twice', [event(1), event(1)], '1 came behind 1'],
    ['an event of another epoch', [event(1), event(2, 'e2')], 'an event of e2 came in e1'],
    ['an old one behind a reset', [resync('epoch_reset', 1, 'e2'), event(1)], 'an event of e1 came in e2'],
    ['a publisher’s events out of order', [event(1, 'e1', 2), event(2, 'e1', 1)], 'its 1th behind its 2th'],
    ['a loss that is none', [event(1), resync('ring_evicted', 2)], '0 events were announced'],
    ['a loss that is announced twice', [resync('ring_evicted', 5), resync('ring_evicted', 5)], '0 events'],
    ['a reset that is announced twice', [2, 2].map((e) => resync('epoch_reset', e, 'e2')), 'of e2 in e2'],
    ['a reset that is called a loss', [resync('ring_evicted', 5, 'e2')], 'ring_evicted of e2 in e1'],
  ])('refuse %s', (_name, frames, message) => {
    expect(() => entered(...frames)).toThrow(message)
  })
})
