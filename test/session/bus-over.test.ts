import { describe, expect, it, vi } from 'vitest'
import { fakeTime, flushed, pass, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

describe('a bus that closes', () => {
  it('closes an attached session at once', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    const { signal } = scene.session
    scene.bus.close()
    expect(scene.session.state).toBe('closed')
    expect(transport.closes).toEqual(['bus_closed'])
    expect(signal.aborted).toBe(true)
    await flushed()
    expect(scene.hooks).toEqual(['close bus_closed'])
  })

  it('closes a detached session at once, also one that never had a transport', async () => {
    fakeTime()
    const scene = new Scene()
    await scene.drop(await scene.attach())
    scene.bus.close({ drain: false })
    expect(scene.session.state).toBe('closed')
    expect(vi.getTimerCount()).toBe(0)
    const fresh = new Scene()
    fresh.bus.close()
    expect(fresh.session.state).toBe('closed')
  })

  it('is not listened to by a session that is over', () => {
    const scene = new Scene()
    scene.session.close('first')
    scene.bus.close()
    expect(scene.hooks).toEqual(['close first'])
  })

  it('before the session was made leaves it closed from the start', async () => {
    const { bus } = new Scene()
    bus.close()
    const scene = new Scene({ bus })
    expect(scene.session.state).toBe('closed')
    expect(scene.session.signal.aborted).toBe(true)
    expect(scene.hooks).toEqual(['close bus_closed'])
  })

  it('costs a session no slot while nobody is attached', () => {
    const scene = new Scene({}, { maxSubscribers: 1 })
    expect(scene.bus.subscriberCount).toBe(0)
    void scene.bus.subscribe().return()
  })
})

describe('a bus that ends', () => {
  it('is drained: what is queued and what is held goes out, and the transport is closed', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    transport.held = true
    await scene.publish(3)
    await scene.reply('R')
    scene.bus.end()
    await flushed()
    expect(scene.session.state).toBe('attached')
    transport.open()
    await flushed()
    expect(transport.shown).toEqual([1, 2, 3, 'R'])
    expect(transport.closes).toEqual([undefined])
    expect(scene.session.state).toBe('detached')
    expect(scene.hooks).toEqual(['detach'])
  })

  it('sends the replies that no fence could follow again to whoever has a cursor', async () => {
    const scene = new Scene({ graceMs: Infinity })
    const first = await scene.attach()
    await scene.publish(2)
    scene.bus.end()
    scene.session.reply('R')
    await flushed()
    expect(first.shown).toEqual([1, 2, 'R'])
    const second = await scene.attach({ lastEventId: 1 })
    expect(second.shown).toEqual([2, 'replay_complete', 'R'])
    expect(second.isClosed).toBe(true)
    expect((await scene.attach({ lastEventId: 2 })).shown).toEqual(['replay_complete', 'R'])
    expect((await scene.attach()).shown).toEqual([])
  })

  it('still confirms by fences that were raised before', async () => {
    const scene = new Scene({ graceMs: Infinity })
    await scene.attach()
    await scene.reply('R1')
    scene.bus.end()
    await scene.reply('R2')
    expect((await scene.attach({ lastEventId: 1 })).shown).toEqual(['replay_complete', 'R2'])
  })

  it('takes replies on, for the next transport', async () => {
    const scene = new Scene()
    await scene.attach()
    scene.bus.end()
    await flushed()
    expect(scene.session.reply('R')).toBe(true)
    const transport = await scene.attach()
    expect(transport.shown).toEqual(['R'])
    expect(transport.isClosed).toBe(true)
  })

  it('ends the session after its grace, as something that was done and not as something that expired', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 100 })
    await scene.attach()
    scene.bus.end()
    await flushed()
    expect(scene.session.state).toBe('detached')
    await scene.stays(100)
    expect(scene.session.state).toBe('closed')
    expect(scene.hooks).toEqual(['detach', 'close bus_ended'])
  })

  it('ends it then though a client comes back again and again', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 100 })
    await scene.attach()
    scene.bus.end()
    await flushed()
    for (let n = 0; n < 4; n++) {
      await scene.attach({ lastEventId: 0 })
      await pass(30)
    }
    expect(scene.session.state).toBe('closed')
  })

  it('lets a client that is behind when the grace is over have the rest', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 100 })
    await scene.publish(3)
    await scene.attach()
    scene.bus.end()
    await flushed()
    const slow = new FakeTransport({ held: true })
    await scene.attach({ lastEventId: 0 }, slow)
    await pass(100)
    expect(scene.session.state).toBe('attached')
    slow.open()
    await flushed()
    expect(slow.shown).toEqual([1, 2, 3, 'replay_complete'])
    expect(scene.session.state).toBe('closed')
  })

  it('while detached leaves the grace as it is, and the gap to whoever comes', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 100 })
    await scene.drop(await scene.attach())
    await scene.publish(2)
    scene.bus.end()
    await pass(50)
    const transport = await scene.attach()
    expect(transport.shown).toEqual([1, 2])
    expect(transport.isClosed).toBe(true)
    expect(scene.session.state).toBe('detached')
    await scene.stays(100)
    expect(scene.session.state).toBe('closed')
  })
})
