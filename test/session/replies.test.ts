import { describe, expect, it } from 'vitest'
import { FENCE, flushed, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

describe('a reply', () => {
  it('goes out behind every event published before it, and before those published after', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.publish(2)
    scene.bus.publish({ type: 'tick' })
    scene.session.reply('R')
    scene.bus.publish({ type: 'tick' })
    await flushed()
    expect(transport.shown).toEqual([1, 2, 3, 'R', 4])
  })

  it('waits for the sends of the events before it', async () => {
    const scene = new Scene()
    const transport = new FakeTransport({ held: true })
    await scene.attach(undefined, transport)
    transport.release()
    await scene.publish(2)
    await scene.reply('R')
    expect(transport.pending.map((one) => one.note)).toEqual([1])
    transport.open()
    await flushed()
    expect(transport.shown).toEqual([1, 2, 'R'])
  })

  it('is sent without an id', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.reply('R')
    expect(transport.messages).toEqual([{ message: 'R', id: undefined }])
  })

  it('is followed by a fence, which a transport gets as a moved cursor', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.publish(1)
    await scene.reply('R')
    expect(transport.taken).toEqual(['cursor 0', 1, 'R', 'cursor 2'])
    expect(scene.bus.lastEventId).toBe(2)
  })

  it('has no fence before it was sent', async () => {
    const scene = new Scene()
    await scene.reply('R')
    expect(scene.bus.lastEventId).toBe(0)
    const transport = new FakeTransport({ held: true })
    await scene.attach(undefined, transport)
    expect(scene.bus.lastEventId).toBe(0)
    transport.open()
    await flushed()
    expect(scene.bus.lastEventId).toBe(1)
  })

  it('keeps its order among replies', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.reply('R1', 'R2', 'R3')
    expect(transport.shown).toEqual(['R1', 'R2', 'R3'])
  })

  it('made while detached is held until the end of a replay', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.publish(2)
    await scene.drop(first)
    await scene.publish(2)
    await scene.reply('R')
    const transport = await scene.attach({ lastEventId: 2 })
    expect(transport.shown).toEqual([3, 4, 'replay_complete', 'R'])
  })

  it('is not released by a resync frame', async () => {
    const scene = new Scene({}, { ringSize: 2 })
    await scene.publish(5)
    await scene.reply('R')
    const transport = await scene.attach({ lastEventId: 1 })
    expect(transport.shown).toEqual(['state_resync_required', 4, 5, 'replay_complete', 'R'])
  })

  it('made during a replay is sent behind it', async () => {
    const scene = new Scene()
    await scene.publish(3)
    const transport = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 0 }, transport)
    await scene.reply('R')
    transport.open()
    await flushed()
    expect(transport.shown).toEqual([1, 2, 3, 'replay_complete', 'R'])
  })

  it('made during a replay, behind events that came meanwhile, waits for those too', async () => {
    const scene = new Scene()
    await scene.publish(2)
    const transport = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 0 }, transport)
    await scene.publish(1)
    await scene.reply('R')
    await scene.publish(1)
    transport.open()
    await flushed()
    expect(transport.shown).toEqual([1, 2, 'replay_complete', 3, 'R', 4])
  })

  it('is in its place for a transport without a cursor', async () => {
    const scene = new Scene()
    await scene.publish(2)
    await scene.reply('R')
    await scene.publish(1)
    const transport = await scene.attach()
    expect(transport.shown).toEqual([1, 2, 'R', 3])
  })

  it('whose send failed with its transport is sent by the next one', async () => {
    const scene = new Scene()
    const first = new FakeTransport({ held: true })
    await scene.attach(undefined, first)
    first.release()
    await scene.reply('R')
    await scene.drop(first)
    expect((await scene.attach()).shown).toEqual(['R'])
  })

  it('whose send was pending while its transport was replaced is sent by the new one', async () => {
    const scene = new Scene()
    const first = new FakeTransport({ held: true })
    await scene.attach(undefined, first)
    first.release()
    await scene.reply('R')
    const second = await scene.attach()
    expect(second.shown).toEqual(['R'])
    expect(scene.bus.lastEventId).toBe(1)
  })

  it('that JSON cannot carry is refused at the door', () => {
    const { session } = new Scene()
    expect(() => session.reply({ n: 1n })).toThrow(new TypeError('message must be JSON'))
    expect(session.state).toBe('detached')
  })
})

describe('a fence', () => {
  it('confirms a reply for a cursor at or past it', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.reply('R')
    await scene.drop(first)
    expect((await scene.attach({ lastEventId: 1 })).shown).toEqual(['replay_complete'])
    await scene.publish(1)
    expect((await scene.attach({ lastEventId: 0 })).shown).toEqual([2, 'replay_complete'])
  })

  it('is void for a lower cursor: the reply comes again behind the replay, with a new fence', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.publish(1)
    await scene.reply('R')
    await scene.drop(first)
    const second = await scene.attach({ lastEventId: 1 })
    expect(second.taken).toEqual(['cursor 2', 'replay_complete', 'R', 'cursor 3'])
  })

  it('is void as soon as a lower cursor comes: one that a replay moved past it before it was cut confirms nothing', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.publish(1)
    await scene.reply('R')
    await scene.publish(1)
    await scene.drop(first)
    const second = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 1 }, second)
    second.release()
    await flushed()
    await scene.drop(second)
    expect(second.taken).toEqual(['cursor 2'])
    const third = await scene.attach({ lastEventId: 2 })
    expect(third.taken).toEqual([3, 'replay_complete', 'R', 'cursor 4'])
  })

  it('that was void never confirms, though the client has seen it since', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.reply('R')
    await scene.drop(first)
    const second = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 0 }, second)
    second.release() // The cursor moves to the old fence.
    await flushed()
    second.release() // And the replay is complete; the reply is pending.
    await flushed()
    await scene.drop(second)
    expect((await scene.attach({ lastEventId: 1 })).shown).toEqual(['replay_complete', 'R'])
  })

  it('confirms what was sent before it and voids what was sent after', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.reply('R1')
    await scene.reply('R2')
    await scene.reply('R3')
    await scene.drop(first)
    expect((await scene.attach({ lastEventId: 2 })).shown).toEqual(['replay_complete', 'R3'])
  })

  it('sends void replies before those that were never sent', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.reply('R1', 'R2')
    await scene.drop(first)
    await scene.reply('R3')
    expect((await scene.attach({ lastEventId: 1 })).shown).toEqual(['replay_complete', 'R2', 'R3'])
  })

  it('counts in no `replay_complete` and is never translated', async () => {
    const types: string[] = []
    const scene = new Scene({
      translate: (frame) => {
        types.push(frame.type)
        return frame
      },
    })
    const first = await scene.attach()
    await scene.publish(2)
    await scene.reply('R')
    await scene.drop(first)
    const second = await scene.attach({ lastEventId: 0 })
    expect(second.messages.at(2)?.message).toMatchObject({
      type: 'replay_complete',
      data: { replayedCount: 2, lastReplayedEventId: 2 },
    })
    const third = await scene.attach({ lastEventId: 2 })
    expect(third.messages.at(0)?.message).toEqual({
      v: 1,
      type: 'replay_complete',
      data: { replayedCount: 0 },
    })
    expect(types).not.toContain(FENCE)
  })

  it('confirms nothing for a cursor of another epoch, or ahead of the bus', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.reply('R')
    await scene.drop(first)
    const second = await scene.attach({ lastEventId: 1, epoch: 'other' })
    expect(second.shown).toEqual(['state_resync_required', 'replay_complete', 'R'])
    const third = await scene.attach({ lastEventId: 50 })
    expect(third.shown).toEqual(['state_resync_required', 'replay_complete', 'R'])
  })

  it('is not asked of a client without a cursor: what was taken is not sent again', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.reply('R')
    await scene.drop(first)
    expect((await scene.attach()).shown).toEqual([])
  })

  it('that left the ring still confirms', async () => {
    const scene = new Scene({}, { ringSize: 1 })
    const first = await scene.attach()
    await scene.reply('R')
    await scene.publish(3)
    await scene.drop(first)
    expect((await scene.attach({ lastEventId: 3 })).shown).toEqual([4, 'replay_complete'])
  })

  it('of another session on the same bus is a moved cursor and confirms nothing', async () => {
    const scene = new Scene()
    const other = await scene.attach()
    await scene.reply('R')
    scene.bus.publish({ type: FENCE, data: null })
    scene.bus.publish({ type: FENCE, data: { by: 'somebody', sending: 1 } })
    await flushed()
    expect(other.taken).toEqual(['cursor 0', 'R', 'cursor 1', 'cursor 2', 'cursor 3'])
  })
})
