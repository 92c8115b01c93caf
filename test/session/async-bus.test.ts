import { describe, expect, it } from 'vitest'
import { flushed, Scene } from '../support/session.ts'
import { AsyncBus } from '../support/session-async-bus.ts'

/** A session whose bus lets the test say when a `publish` resolves. */
function asyncScene() {
  const bus = new AsyncBus()
  return { bus, scene: new Scene({ bus }) }
}

describe('on an asynchronous bus', () => {
  it('a reply is behind the events whose publish had resolved', async () => {
    const { bus, scene } = asyncScene()
    const transport = await scene.attach()
    bus.inner.publish({ type: 'tick' })
    scene.session.reply('R')
    await flushed()
    expect(transport.shown).toEqual([1, 'R'])
  })

  it('a reply does not wait for the fence of the one before', async () => {
    const { bus, scene } = asyncScene()
    const transport = await scene.attach()
    await scene.reply('R1', 'R2')
    expect(bus.pending.length).toBe(2)
    expect(transport.shown).toEqual(['R1', 'R2'])
  })

  it('a fence confirms from its event on, though its publish has not resolved', async () => {
    const { bus, scene } = asyncScene()
    await scene.attach()
    await scene.reply('R')
    bus.deliver()
    await flushed()
    const second = await scene.attach({ lastEventId: 1 })
    expect(second.shown).toEqual(['replay_complete'])
    bus.resolve()
    await flushed()
    expect(second.shown).toEqual(['replay_complete'])
  })

  it('a fence whose event nobody has seen is void for any cursor, and stays so when its publish resolves', async () => {
    const { bus, scene } = asyncScene()
    await scene.attach()
    await scene.reply('R')
    const second = await scene.attach({ lastEventId: 0 })
    expect(second.shown).toEqual(['replay_complete', 'R'])
    bus.deliver() // The first fence, late.
    bus.resolve()
    await flushed()
    expect((await scene.attach({ lastEventId: 1 })).shown).toEqual(['replay_complete', 'R'])
  })

  it('a fence that could not be published leaves the reply to be sent again', async () => {
    const { bus, scene } = asyncScene()
    await scene.attach()
    await scene.reply('R')
    bus.fail()
    await flushed()
    expect(scene.session.state).toBe('attached')
    expect((await scene.attach({ lastEventId: 0 })).shown).toEqual(['replay_complete', 'R'])
  })

  it('a subscription that fails closes the transport, and the session stays', async () => {
    const { bus, scene } = asyncScene()
    const transport = await scene.attach()
    bus.failSubscriptions()
    await flushed()
    expect(scene.session.state).toBe('detached')
    expect(transport.isClosed).toBe(true)
    bus.inner.publish({ type: 'tick' })
    expect((await scene.attach()).shown).toEqual([1])
  })

  it('a subscription that just ends does too', async () => {
    const { bus, scene } = asyncScene()
    const transport = await scene.attach()
    bus.endSubscriptions()
    await flushed()
    expect(scene.session.state).toBe('detached')
    expect(transport.isClosed).toBe(true)
  })

  it('a new epoch in the middle of a stream lets go of the replies that waited for the old one', async () => {
    const { bus, scene } = asyncScene()
    for (let n = 0; n < 5; n++) bus.inner.publish({ type: 'tick' })
    scene.session.reply('R')
    bus.recreate()
    bus.inner.publish({ type: 'tick' })
    const transport = await scene.attach()
    expect(transport.shown).toEqual(['state_resync_required', 'R', 1])
  })
})
