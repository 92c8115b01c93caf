import { describe, expect, it } from 'vitest'
import { flushed, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

describe('attaching with a cursor', () => {
  it('replays what is behind it, each event once with its id, and says when it is complete', async () => {
    const scene = new Scene()
    await scene.publish(3)
    const transport = await scene.attach({ lastEventId: 1 })
    await scene.publish(1)
    expect(transport.messages.map(({ id }) => id)).toEqual([2, 3, undefined, 4])
    expect(transport.shown).toEqual([2, 3, 'replay_complete', 4])
  })

  it('goes by the cursor, whatever a transport took before', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.publish(4)
    await scene.drop(first)
    expect((await scene.attach({ lastEventId: 2 })).shown).toEqual([3, 4, 'replay_complete'])
  })

  it('is told once of what has left the ring', async () => {
    const scene = new Scene({}, { ringSize: 2 })
    await scene.publish(5)
    expect((await scene.attach({ lastEventId: 0 })).shown).toEqual([
      'state_resync_required',
      4,
      5,
      'replay_complete',
    ])
  })

  it('of another epoch is told, and gets the ring', async () => {
    const scene = new Scene()
    await scene.publish(2)
    const transport = await scene.attach({ lastEventId: 2, epoch: 'gone' })
    expect(transport.shown).toEqual(['state_resync_required', 1, 2, 'replay_complete'])
    expect(transport.messages[0]?.message).toMatchObject({ data: { reason: 'epoch_reset' } })
  })

  it('moves the cursor behind a resync that no event follows, so that a cut there announces nothing twice', async () => {
    const scene = new Scene({}, { ringSize: 0 })
    await scene.publish(3)
    const transport = await scene.attach({ lastEventId: 1 })
    expect(transport.taken).toEqual(['state_resync_required', 'replay_complete', 'cursor 3'])
  })
})

describe('attaching without a cursor', () => {
  it('starts behind the head when the session was created', async () => {
    const scene = new Scene()
    expect((await scene.attach()).taken).toEqual(['cursor 0'])
    await scene.publish(2)
  })

  it('gets what was published before the first transport, in order and with ids', async () => {
    const scene = new Scene()
    await scene.publish(3)
    const transport = await scene.attach()
    expect(transport.messages.map(({ id }) => id)).toEqual([1, 2, 3])
    expect(transport.shown).toEqual([1, 2, 3])
  })

  it('goes on behind the last event that a transport took', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.publish(2)
    await scene.drop(first)
    await scene.publish(2)
    expect((await scene.attach()).shown).toEqual([3, 4])
  })

  it('gets again what the last transport had not taken', async () => {
    const scene = new Scene()
    const first = new FakeTransport({ held: true })
    await scene.attach(undefined, first)
    first.release()
    await scene.publish(2)
    first.release()
    await flushed()
    await scene.drop(first)
    expect((await scene.attach()).shown).toEqual([2])
  })

  it('is told first, and once, of events that left the ring', async () => {
    const scene = new Scene({}, { ringSize: 2 })
    const first = await scene.attach()
    await scene.publish(1)
    await scene.drop(first)
    await scene.publish(5)
    const second = await scene.attach()
    expect(second.shown).toEqual(['state_resync_required', 5, 6])
    await scene.drop(second)
    expect((await scene.attach()).shown).toEqual([])
  })

  it('is not told twice of a gap that was told', async () => {
    const scene = new Scene({}, { ringSize: 0 })
    await scene.publish(2)
    const first = await scene.attach()
    expect(first.shown).toEqual(['state_resync_required'])
    await scene.drop(first)
    expect((await scene.attach()).shown).toEqual([])
  })

  it('gives a client its first cursor once nothing is pending', async () => {
    const scene = new Scene()
    await scene.publish(2)
    const first = await scene.attach()
    expect(first.taken).toEqual([1, 2])
    await scene.drop(first)
    expect((await scene.attach()).taken).toEqual(['cursor 2'])
  })
})

describe('a transport that is attached', () => {
  it('gets what is published from then on', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.publish(2)
    expect(transport.shown).toEqual([1, 2])
    expect(scene.session.state).toBe('attached')
  })

  it('gets nothing before `attach` has returned', () => {
    const scene = new Scene()
    scene.bus.publish({ type: 'tick' })
    const transport = new FakeTransport()
    expect(scene.session.attach(transport)).toBe(true)
    expect(transport.taken).toEqual([])
  })

  it('may be attached again, and nothing happens', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.publish(1)
    expect(scene.session.attach(transport, { lastEventId: 0 })).toBe(true)
    await flushed()
    expect(transport.shown).toEqual([1])
    expect(transport.closes).toEqual([])
    expect(scene.hooks).toEqual([])
  })

  it('is refused where it is over already, and the one that lives stays', async () => {
    const scene = new Scene()
    const living = await scene.attach()
    const dead = new FakeTransport()
    dead.drop()
    expect(scene.session.attach(dead)).toBe(false)
    await scene.publish(1)
    expect(living.shown).toEqual([1])
    expect(scene.hooks).toEqual([])
  })

  it('needs no `cursor`, and its sends no promise', async () => {
    const scene = new Scene()
    const sent: unknown[] = []
    const transport = {
      send: (message: unknown, id?: number) => void sent.push(id ?? message),
      close: () => {},
      isClosed: false,
      closed: new Promise<void>(() => {}),
    }
    scene.session.attach(transport)
    await scene.publish(1)
    await scene.reply('R')
    await scene.publish(1)
    expect(sent).toEqual([1, 'R', 3])
  })

  it('that is over behind a send without a promise has not taken it', async () => {
    const scene = new Scene()
    const transport = {
      send() {
        transport.isClosed = true
      },
      close: () => {},
      isClosed: false,
      closed: new Promise<void>(() => {}),
    }
    scene.session.attach(transport)
    await scene.publish(1)
    expect(scene.session.state).toBe('detached')
    expect((await scene.attach()).shown).toEqual([1])
  })
})

describe('taking over', () => {
  it('tells the replaced transport and closes it', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    const second = await scene.attach()
    expect(first.closes).toEqual(['session_taken_over'])
    expect(second.closes).toEqual([])
    expect(scene.hooks).toEqual(['replace'])
    expect(scene.session.state).toBe('attached')
  })

  it('leaves one subscriber, and events for the new one only', async () => {
    const scene = new Scene()
    const transports = [await scene.attach(), await scene.attach(), await scene.attach()]
    expect(scene.bus.subscriberCount).toBe(1)
    await scene.publish(1)
    expect(transports.map((one) => one.shown)).toEqual([[], [], [1]])
  })

  it('twice in one tick ends with the newest', async () => {
    const scene = new Scene()
    const [first, second] = [new FakeTransport(), new FakeTransport()]
    scene.session.attach(first)
    scene.session.attach(second)
    await scene.publish(1)
    expect([first.taken, second.shown]).toEqual([[], [1]])
    expect(first.closes).toEqual(['session_taken_over'])
  })

  it('is not undone by a late close or detach of the replaced one', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    await scene.attach()
    await scene.drop(first)
    scene.session.detach(first)
    expect(scene.session.state).toBe('attached')
    expect(scene.hooks).toEqual(['replace'])
  })

  it('counts nothing that the replaced one takes late', async () => {
    const scene = new Scene()
    const taken: (() => void)[] = []
    const slow = {
      send: () => new Promise<void>((resolve) => taken.push(resolve)),
      close: () => {},
      isClosed: false,
      closed: new Promise<void>(() => {}),
    }
    scene.session.attach(slow)
    await scene.publish(1)
    const second = new FakeTransport({ held: true })
    await scene.attach(undefined, second)
    taken[0]?.()
    await flushed()
    await scene.drop(second)
    expect((await scene.attach()).shown).toEqual([1])
  })

  it('takes the slot of the replaced one on a bus that is full', async () => {
    const scene = new Scene({}, { maxSubscribers: 1 })
    await scene.attach()
    const second = await scene.attach()
    await scene.publish(1)
    expect(second.shown).toEqual([1])
  })
})

describe('without a subscriber slot', () => {
  it('a transport is told and closed, and the session stays as it was', async () => {
    const scene = new Scene({}, { maxSubscribers: 1 })
    const other = scene.bus.subscribe()
    const transport = new FakeTransport()
    expect(scene.session.attach(transport)).toBe(false)
    expect(transport.closes).toEqual(['subscriber_limit_exceeded'])
    expect(scene.session.state).toBe('detached')
    await other.return()
    await scene.publish(1)
    expect((await scene.attach()).shown).toEqual([1])
  })
})

describe('a bus that does something while it is subscribed to', () => {
  it('and fails has a transport closed, the replaced one too, and the session waits', async () => {
    const scene = new Scene()
    const first = await scene.attach()
    const { subscribe } = scene.bus
    scene.bus.subscribe = () => {
      throw new Error('away')
    }
    const second = new FakeTransport()
    expect(scene.session.attach(second)).toBe(false)
    expect([first.isClosed, second.closes]).toEqual([true, ['error']])
    expect(scene.session.state).toBe('detached')
    expect(scene.hooks).toEqual(['detach'])
    scene.bus.subscribe = subscribe
    await scene.publish(1)
    expect((await scene.attach()).shown).toEqual([1])
  })

  it('and whose owner closes the session then leaves no subscriber', async () => {
    const scene: Scene = new Scene({}, { ringSize: 0, onDiagnostic: () => scene.session.close() })
    await scene.publish(3)
    const transport = new FakeTransport()
    expect(scene.session.attach(transport, { lastEventId: 0 })).toBe(false)
    expect(transport.closes).toEqual(['gone'])
    expect(scene.bus.subscriberCount).toBe(0)
  })

  it('and whose owner attaches another transport then has one attached in the end', async () => {
    const inner = new FakeTransport()
    const scene: Scene = new Scene(
      {},
      {
        ringSize: 0,
        onDiagnostic: ({ type }) => type === 'state_resync_required' && scene.session.attach(inner),
      },
    )
    await scene.publish(3)
    const outer = new FakeTransport()
    expect(scene.session.attach(outer, { lastEventId: 0 })).toBe(true)
    await flushed()
    expect(inner.closes).toEqual(['session_taken_over'])
    expect(outer.shown).toEqual(['state_resync_required', 'replay_complete'])
    expect(scene.bus.subscriberCount).toBe(1)
  })
})
