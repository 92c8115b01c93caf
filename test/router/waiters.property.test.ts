import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import { AwaitService, type Reply } from '../../src/router/index.ts'
import { abortListeners } from '../support/bus.ts'
import { flush } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const path = fc.constantFrom('a', 'b', undefined)
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('prepare' as const),
      path,
      type: fc.constantFrom('r', '*', '(r|s)'),
      since: fc.option(fc.nat({ max: 10 }), { nil: undefined }),
      only: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('publish' as const), path, type: fc.constantFrom('r', 's') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('close' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('abort' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('stop' as const, 'end' as const) }) },
)

it(
  'every waiter has exactly one outcome: the first event that is its own, or why there was none',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const bus = new EventBus({ ringSize: 4 })
        const service = new AwaitService(bus)
        const published: { id: number; type: string; path: string | undefined }[] = []
        const waiters: {
          outcomes: (number | string)[]
          expected: number | string | undefined
          own(event: { id: number; type: string; path: string | undefined }): boolean
          controller: AbortController
          close(): void
        }[] = []
        const settle = (one: { expected: number | string | undefined } | undefined, as: number | string) => {
          if (one) one.expected ??= as
        }

        for (const one of [...steps, { do: 'stop' as const }]) {
          if (one.do === 'prepare') {
            const { type, path, since, only } = one
            const controller = new AbortController()
            const where = only === undefined ? undefined : ({ id }: { id: number }) => id % 4 === only
            const options = { type, path, since, where, timeoutMs: 0, signal: controller.signal }
            let waiter: ReturnType<AwaitService['prepare']>
            try {
              waiter = service.prepare(options)
            } catch {
              continue
            }
            const head = bus.lastEventId
            // A cursor above the head is one of an earlier life, which saw nothing of this one.
            const begin = since === undefined ? head : since > head ? 0 : since
            const own = (event: { id: number; type: string; path: string | undefined }) =>
              event.id > begin &&
              (type !== 'r' || event.type === 'r') &&
              (path === undefined || event.path === path) &&
              (where === undefined || where(event))
            const outcomes: (number | string)[] = []
            const retained = published.filter(({ id }) => id >= bus.earliestAvailableId)
            const expected = retained.find(own)?.id ?? (bus.ended ? 'stopped' : undefined)
            waiter.wait().then(
              ({ event }: Reply) => outcomes.push(event.id),
              ({ code }: { code: string }) => outcomes.push(code),
            )
            waiters.push({ outcomes, expected, own, controller, close: () => waiter.close() })
          } else if (one.do === 'publish') {
            const { type, path } = one
            const event = bus.publish({ type, path })
            if (event === undefined) continue
            published.push({ id: event.id, type, path })
            for (const each of waiters) if (each.own({ id: event.id, type, path })) settle(each, event.id)
          } else if (one.do === 'close' || one.do === 'abort') {
            const each = waiters[one.which % (waiters.length || 1)]
            settle(each, one.do === 'close' ? 'stopped' : 'aborted')
            if (one.do === 'close') each?.close()
            else each?.controller.abort()
          } else {
            for (const each of waiters) settle(each, 'stopped')
            if (one.do === 'stop') service.stop()
            else bus.end()
          }
        }
        await flush()
        expect(waiters.map(({ outcomes }) => outcomes)).toEqual(waiters.map(({ expected }) => [expected]))
        expect(bus.subscriberCount).toBe(0)
        for (const { controller } of waiters) expect(abortListeners(controller.signal)).toBe(0)
      }),
      runs(500),
    )
  },
  PROPERTY_TIMEOUT,
)
