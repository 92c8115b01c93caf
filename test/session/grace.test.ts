import { describe, expect, it, vi } from 'vitest'
import { activeTimers } from '../support/bus.ts'
import { fakeTime, flushed, pass, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

describe('a transport that closes', () => {
  it('detaches: its subscriber is freed, the session and its work stay', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    const { signal } = scene.session
    await scene.drop(transport)
    expect(scene.session.state).toBe('detached')
    expect(scene.bus.subscriberCount).toBe(0)
    expect(signal.aborted).toBe(false)
    expect(scene.session.signal).toBe(signal)
    expect(scene.hooks).toEqual(['detach'])
  })

  it('may be announced by its owner, and is closed then', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    scene.session.detach(transport)
    expect(scene.session.state).toBe('detached')
    expect(transport.closes).toEqual([undefined])
    await flushed()
    expect(scene.hooks).toEqual(['detach'])
  })

  it('first, and a client that comes back then: the gap is filled and nothing was aborted', async () => {
    fakeTime()
    const scene = new Scene()
    const first = await scene.attach()
    const { signal } = scene.session
    await scene.publish(2)
    await scene.drop(first)
    await scene.publish(2)
    await pass(9_999)
    const second = await scene.attach({ lastEventId: 1 })
    expect(second.shown).toEqual([2, 3, 4, 'replay_complete'])
    expect(signal.aborted).toBe(false)
    expect(scene.hooks).toEqual(['detach', 'reclaim'])
  })
})

describe('the grace', () => {
  it('ends the session once, with the signal, when nobody comes', async () => {
    fakeTime()
    const scene = new Scene()
    await scene.drop(await scene.attach())
    const { signal } = scene.session
    expect(scene.session.state).toBe('detached')
    await scene.stays(10_000)
    expect(scene.session.state).toBe('closed')
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ name: 'AbortError', code: 'expired' })
    await pass(100_000)
    scene.session.close()
    expect(scene.hooks).toEqual(['detach', 'expire', 'close expired'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is cleared by a client that comes in time, and whole the next time', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 200, stallTimeoutMs: 0 })
    await scene.drop(await scene.attach())
    await pass(150)
    const second = await scene.attach()
    expect(vi.getTimerCount()).toBe(0)
    await pass(1000)
    expect(scene.session.state).toBe('attached')
    await scene.drop(second)
    expect(scene.session.state).toBe('detached')
    await scene.stays(200)
    expect(scene.session.state).toBe('closed')
  })

  it('does not begin before there was a transport', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 1 })
    expect(vi.getTimerCount()).toBe(0)
    await pass(1000)
    expect(scene.session.state).toBe('detached')
  })

  it('of 0 ends the session as its transport goes', async () => {
    const scene = new Scene({ graceMs: 0 })
    await scene.drop(await scene.attach())
    expect(scene.session.state).toBe('closed')
    expect(scene.hooks).toEqual(['detach', 'expire', 'close expired'])
  })

  it('of 0 leaves a session alone that got a transport within the hook', async () => {
    const next = new FakeTransport()
    const scene: Scene = new Scene({ graceMs: 0, onDetach: () => void scene.session.attach(next) })
    await scene.drop(await scene.attach())
    expect(scene.session.state).toBe('attached')
    await scene.publish(1)
    expect(next.shown).toEqual([1])
  })

  it('of Infinity needs no timer', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: Infinity })
    await scene.drop(await scene.attach())
    expect(vi.getTimerCount()).toBe(0)
    expect(scene.session.state).toBe('detached')
  })

  it('past 2^31 − 1 ms is no short one', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 3e9 })
    await scene.drop(await scene.attach())
    await pass(2 ** 31)
    expect(scene.session.state).toBe('detached')
    await pass(1e9)
    expect(scene.session.state).toBe('closed')
  })

  it('keeps no process alive', async () => {
    const before = activeTimers()
    const scene = new Scene()
    await scene.drop(await scene.attach())
    expect(activeTimers()).toBe(before)
  })
})

describe('closing', () => {
  it('is immediate, tells the transport why, and frees everything', async () => {
    fakeTime()
    const scene = new Scene()
    const transport = await scene.attach()
    await scene.publish(1)
    const { signal } = scene.session
    scene.session.close('done')
    expect(scene.session.state).toBe('closed')
    expect(transport.closes).toEqual(['done'])
    expect(signal.reason).toMatchObject({ code: 'done' })
    expect(scene.bus.subscriberCount).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
    await flushed()
    expect(scene.hooks).toEqual(['close done'])
  })

  it('without a reason ends the transport cleanly', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    scene.session.close()
    expect(transport.closes).toEqual([undefined])
    expect(scene.session.signal.reason).toMatchObject({ code: 'closed' })
    expect(scene.hooks).toEqual(['close'])
  })

  it('clears the grace', async () => {
    fakeTime()
    const scene = new Scene()
    await scene.drop(await scene.attach())
    scene.session.close()
    expect(vi.getTimerCount()).toBe(0)
    expect(scene.hooks).toEqual(['detach', 'close'])
  })

  it('is once, whoever asks again', async () => {
    const scene: Scene = new Scene({ onClose: () => void scene.hooks.push('close') })
    scene.session.signal.addEventListener('abort', () => scene.session.close('again'))
    scene.session.close('first')
    scene.session.close('second')
    scene.bus.close()
    expect(scene.hooks).toEqual(['close'])
    expect(scene.session.signal.reason).toMatchObject({ code: 'first' })
  })

  it('leaves nothing that attaches, replies or cancels', async () => {
    const scene = new Scene()
    scene.session.close()
    const transport = new FakeTransport()
    expect(scene.session.attach(transport)).toBe(false)
    expect(transport.closes).toEqual(['gone'])
    expect(scene.session.reply('R')).toBe(false)
    const { signal } = scene.session
    scene.session.cancel()
    expect(scene.session.signal).toBe(signal)
    expect(scene.hooks).toEqual(['close'])
  })

  it('is what `using` does', () => {
    const scene = new Scene()
    {
      using session = scene.session
      expect(session.state).toBe('detached')
    }
    expect(scene.session.state).toBe('closed')
  })
})

describe('cancelling', () => {
  it('aborts the signal, installs a fresh one, and leaves session and transport', async () => {
    const scene = new Scene()
    const transport = await scene.attach()
    const { signal } = scene.session
    scene.session.cancel('stop')
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toBe('stop')
    expect(scene.session.signal.aborted).toBe(false)
    expect(scene.session.state).toBe('attached')
    await scene.publish(1)
    expect(transport.shown).toEqual([1])
    expect(scene.hooks).toEqual(['cancel stop'])
  })

  it('is neither detaching nor expiring, and works after a reclaim', async () => {
    const scene = new Scene()
    await scene.drop(await scene.attach())
    await scene.attach()
    scene.session.cancel()
    expect(scene.hooks).toEqual(['detach', 'reclaim', 'cancel'])
  })

  it('from within itself is one', () => {
    const scene: Scene = new Scene({
      onCancel: () => {
        scene.hooks.push('cancel')
        scene.session.cancel()
      },
    })
    scene.session.cancel()
    expect(scene.hooks).toEqual(['cancel'])
    scene.session.cancel()
    expect(scene.hooks).toEqual(['cancel', 'cancel'])
  })

  it('leaves the signal aborted where the hook closes the session', () => {
    const scene: Scene = new Scene({ onCancel: () => scene.session.close() })
    scene.session.cancel()
    expect(scene.session.signal.aborted).toBe(true)
  })
})

describe('a hook that throws', () => {
  it('is reported and changes nothing', async () => {
    fakeTime()
    const error = new Error('hook')
    const fail = () => {
      throw error
    }
    const hooks = {
      onDetach: fail,
      onReclaim: fail,
      onReplace: fail,
      onExpire: fail,
      onCancel: fail,
      onClose: fail,
    }
    const scene = new Scene({ ...hooks, graceMs: 5 })
    await scene.drop(await scene.attach())
    await scene.attach()
    const last = await scene.attach()
    scene.session.cancel()
    await scene.drop(last)
    await pass(5)
    expect(scene.session.state).toBe('closed')
    expect(scene.reports).toEqual(Array.from({ length: 7 }, () => ({ type: 'callback_error', error })))
  })
})
