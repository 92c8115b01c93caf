import { describe, expect, it } from 'vitest'
import { createResyncGate } from '../../src/client/index.ts'
import { PLACES, WAYS } from '../support/chaos-plan.ts'
import { turn } from '../support/chaos-proxy.ts'
import { chaos, cutsOf, timeFor } from '../support/chaos-scene.ts'
import { pause } from '../support/until.ts'

const CUTS = cutsOf(200)
const TIMEOUT = timeFor(CUTS) + 20_000

describe(`connections that are cut ${CUTS} times at any byte and in any way`, () => {
  it(
    'lose no event, double none and keep their order, where the ring is large enough',
    async () => {
      const { origin, books, proxy } = await chaos({
        cuts: CUTS,
        bus: { ringSize: 10_000 },
        clients: 6,
        burst: 4,
        window: 2000,
      })
      for (const own of books) {
        expect([own.resyncs, own.received]).toEqual([0, origin.bus.lastEventId])
      }
      if (CUTS >= 200) expect([...proxy.struck.keys()].sort()).toEqual([...WAYS, ...PLACES].sort())
    },
    TIMEOUT,
  )

  it(
    'lose nothing that is not announced, once, where the ring is small',
    async () => {
      const { origin, books } = await chaos({
        cuts: CUTS,
        bus: { ringSize: 40, maxQueued: 30 },
        clients: 4,
        burst: 40,
        window: 160,
      })
      for (const own of books) {
        expect(own.resyncs).toBeGreaterThan(0)
        expect(own.received + own.announced).toBe(origin.bus.lastEventId)
      }
    },
    TIMEOUT,
  )

  it(
    'never mix two epochs in silence, where the server restarts and its ids overlap',
    async () => {
      const restarts = Math.min(50, Math.ceil(CUTS / 15))
      const { origin, books } = await chaos({
        cuts: CUTS,
        bus: { ringSize: 10_000 },
        clients: 4,
        burst: 8,
        window: 400,
        restarts,
      })
      const { from, to } = origin.published.get(origin.bus.epoch) ?? { from: 0, to: 0 }
      expect(origin.published.size).toBe(restarts + 1)
      for (const own of books) {
        expect(own.epochs).toBeGreaterThan(1)
        expect([own.epoch, own.last, own.received]).toEqual([origin.bus.epoch, to, to - from + 1])
      }
    },
    TIMEOUT,
  )

  it(
    'are told apart by a stream whose older answers come behind newer ones',
    async () => {
      let late = 0
      const { origin, books } = await chaos({
        cuts: CUTS,
        bus: { ringSize: 10_000 },
        clients: 6,
        burst: 4,
        window: 2000,
        restarts: 2,
        // Some answers come when the stream has long asked again, and their connections wait for somebody to end them.
        fetch:
          (draw) =>
          async (url, { signal, ...init }) => {
            const unanswered = new AbortController()
            const abort = () => unanswered.abort(signal?.reason)
            signal?.addEventListener('abort', abort)
            const response = await fetch(url, { ...init, signal: unanswered.signal })
            signal?.removeEventListener('abort', abort)
            if (draw(8) === 0) {
              await pause(draw(400))
              if (signal?.aborted) late++
            }
            return response
          },
      })
      if (CUTS >= 200) expect(late).toBeGreaterThan(0)
      for (const own of books) expect([own.epoch, own.epochs > 1]).toEqual([origin.bus.epoch, true])
    },
    TIMEOUT,
  )

  it(
    'leave a state behind a gate right, where it is reloaded whenever something was lost',
    async () => {
      let reloads = 0
      const { books } = await chaos({
        cuts: CUTS,
        bus: { ringSize: 40, maxQueued: 30 },
        clients: 4,
        burst: 40,
        window: 160,
        restarts: 3,
        through: (connection, origin, state) => {
          let latest: unknown
          const gate = createResyncGate({
            maxHeld: 60,
            onResync: async (frame) => {
              latest = frame
              reloads++
              const { epoch, lastEventId } = origin.bus
              for (let turns = origin.draw(8); turns > 0; turns--) await turn()
              // The books take the place of the state: they refuse an event that it contains or that does not follow.
              if (frame === latest) Object.assign(state, { epoch, last: lastEventId })
              return `${epoch}:${lastEventId}`
            },
          })
          return eventsOf(gate.through(connection))
        },
      })
      expect(reloads).toBeGreaterThan(0)
      for (const own of books) expect(own.resyncs).toBe(0)
    },
    TIMEOUT,
  )
})

async function* eventsOf<F extends { id?: number | undefined }>(frames: AsyncIterable<F>): AsyncGenerator<F> {
  for await (const frame of frames) {
    if (frame.id !== undefined) yield frame
  }
}
