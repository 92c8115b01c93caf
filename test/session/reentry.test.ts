import { describe, expect, it, vi } from 'vitest'
import { fakeTime, flushed, pass, Scene } from '../support/session.ts'
import { FakeTransport } from '../support/session-transport.ts'

/** A transport whose client hears of its close at once, as one in the same process does. */
function transportWith(onClose: () => void): FakeTransport {
  const transport = new FakeTransport()
  const close = transport.close.bind(transport)
  transport.close = (reason) => {
    close(reason)
    onClose()
  }
  return transport
}

describe('a client that comes back before the close of its transport has returned', () => {
  it('is told of in the order of what happened, and keeps the session', async () => {
    fakeTime()
    const scene = new Scene({ graceMs: 1000 })
    const second = new FakeTransport()
    const first = transportWith(() => scene.session.attach(second))
    await scene.attach(undefined, first)
    scene.session.detach(first)
    expect(scene.hooks).toEqual(['detach', 'reclaim'])
    await pass(5000)
    expect(scene.session.state).toBe('attached')
    await scene.drop(second)
    expect(scene.session.state).toBe('detached')
    await scene.stays(1000)
    expect(scene.hooks).toEqual(['detach', 'reclaim', 'detach', 'expire', 'close expired'])
  })

  it('keeps a session without grace', async () => {
    const scene = new Scene({ graceMs: 0 })
    const first = transportWith(() => scene.session.attach(new FakeTransport()))
    await scene.attach(undefined, first)
    scene.session.detach(first)
    expect(scene.session.state).toBe('attached')
  })

  it('takes over from the one that took over', async () => {
    const scene = new Scene()
    const second = new FakeTransport()
    const third = new FakeTransport()
    await scene.attach(
      undefined,
      transportWith(() => scene.session.attach(third)),
    )
    expect(scene.session.attach(second)).toBe(false)
    expect(scene.hooks).toEqual(['replace', 'replace'])
    expect(second.closes).toEqual(['session_taken_over'])
    await scene.publish()
    expect([second.taken, third.shown]).toEqual([[], [1]])
  })
})

describe('a session that is closed from within', () => {
  it('the close of a transport that it detaches has no timer, and no hook behind `onClose`', async () => {
    fakeTime()
    const scene = new Scene()
    const first = transportWith(() => scene.session.close('done'))
    await scene.attach(undefined, first)
    scene.session.detach(first)
    expect(scene.hooks).toEqual(['detach', 'close done'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('the close of a transport that is replaced has none attached', async () => {
    const scene = new Scene()
    await scene.attach(
      undefined,
      transportWith(() => scene.session.close('done')),
    )
    expect(scene.session.attach(new FakeTransport())).toBe(false)
    expect(scene.hooks).toEqual(['replace', 'close done'])
  })

  it.each(['onReclaim', 'onReplace'])('`%s` has attached nothing', async (hook) => {
    const scene: Scene = new Scene({ [hook]: () => scene.session.close() })
    const first = await scene.attach()
    if (hook === 'onReclaim') await scene.drop(first)
    const second = new FakeTransport()
    expect(scene.session.attach(second)).toBe(false)
    expect([first.isClosed, second.isClosed]).toEqual([true, true])
  })

  it('an abort listener is not told of the cancel any more', async () => {
    const scene = new Scene()
    scene.session.signal.addEventListener('abort', () => scene.session.close('done'))
    scene.session.cancel('by user')
    expect(scene.hooks).toEqual(['close done'])
    expect(scene.session.signal.aborted).toBe(true)
  })

  it('a send has no timer', async () => {
    fakeTime()
    const scene = new Scene()
    const transport = new FakeTransport({ held: true })
    const { send } = transport
    transport.send = (...sent) => {
      scene.session.close()
      transport.isClosed = false
      return send.apply(transport, sent)
    }
    Object.assign(transport, { cursor: undefined })
    await scene.publish()
    await scene.attach(undefined, transport)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a send without a promise', () => {
  it('that has another transport attached is that one’s again', async () => {
    const scene = new Scene()
    const second = new FakeTransport()
    let sent = 0
    const first = {
      isClosed: false,
      closed: new Promise<void>(() => {}),
      close() {},
      send() {
        if (++sent === 1) scene.session.attach(second)
      },
    }
    scene.session.attach(first)
    await scene.reply('R')
    expect([sent, second.shown]).toEqual([1, ['R']])
    await flushed()
    expect(scene.bus.lastEventId).toBe(1)
  })
})
