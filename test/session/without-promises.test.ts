import { describe, expect, it } from 'vitest'
import { EventBus, type Frame } from '../../src/index.ts'
import { ResumableSession } from '../../src/session/index.ts'
import { settle } from '../support/until.ts'

/** Without promises, and closed by whoever has it. */
function synchronous(send: (message: unknown, id: number | undefined) => void) {
  let over!: () => void
  const closed = new Promise<void>((resolve) => {
    over = resolve
  })
  const transport = {
    isClosed: false,
    closed,
    send,
    close() {
      transport.isClosed = true
      over()
    },
  }
  return transport
}

describe('a session with a transport without promises', () => {
  // Bounded here, or the loop would never end.
  const MOST = 5000

  it.each(['the transport', 'the session'])(
    'lets a promise close %s while each send publishes',
    async (what) => {
      const bus = new EventBus()
      const session = new ResumableSession({ id: 's', bus })
      let sent = 0
      const transport = synchronous(() => {
        if (++sent === 10)
          void Promise.resolve().then(() => (what === 'the session' ? session : transport).close())
        if (sent < MOST) bus.publish({ type: 'x' })
      })
      session.attach(transport)
      bus.publish({ type: 'x' })
      await settle()
      session.close()
      expect(sent).toBeLessThan(MOST)
    },
  )

  it('translates nothing more, and counts nothing more as taken, once it is closed', async () => {
    const bus = new EventBus()
    const shown: (number | undefined)[] = []
    const transport = synchronous(() => {})
    const session = new ResumableSession({
      id: 's',
      bus,
      // As one that shows its client what it may see, while there is one.
      translate: (frame: Frame) => {
        if (frame.id === 2) transport.close()
        return transport.isClosed && !second ? undefined : frame
      },
    })
    let second = false
    session.attach(transport)
    for (let n = 1; n <= 5; n++) bus.publish({ type: 'x' })
    await settle()
    expect(session.state).toBe('detached')
    second = true
    session.attach(synchronous((_, id) => shown.push(id)))
    await settle()
    session.close()
    expect(shown).toEqual([3, 4, 5])
  })
})
