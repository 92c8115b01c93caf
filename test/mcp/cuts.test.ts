import { describe, expect, it } from 'vitest'
import { EventBus } from '../../src/index.ts'
import type { EventStore } from '../../src/mcp/index.ts'
import { type Draw, drawFrom } from '../support/chaos-plan.ts'
import { createEventStore, numbers } from '../support/mcp.ts'
import { type CuttingProxy, cuttingProxy } from '../support/mcp-proxy.ts'
import { type Connected, type Pace, SDK_1, SDK_2, type Sdk, type Served } from '../support/mcp-sdk.ts'
import { LaggingBus, SlowBus } from '../support/session-async-bus.ts'
import { pause, until } from '../support/until.ts'

const NOTES = 30

interface Session {
  readonly server: Served
  readonly proxy: CuttingProxy
  readonly client: Connected
}

/** A client whose stream for what belongs to no call is open, and has an id: before that, the SDK has none to resume from. */
async function sessionOver(sdk: Sdk, store: EventStore, draw: Draw, pace?: Pace): Promise<Session> {
  const server = await sdk.serve(store, pace)
  const proxy = await cuttingProxy(server.port, draw)
  const client = await sdk.connect(proxy.url)
  while (!client.told.has('')) {
    await server.tell('hello')
    await pause(1)
  }
  return { server, proxy, client }
}

const STORES: [cuts: number, string, () => EventStore][] = [
  [100, 'a store in memory', () => createEventStore()],
  [40, 'a store that ages', () => createEventStore({ ttlMs: 60_000 })],
  [40, 'a bus', () => createEventStore({ bus: new EventBus(), namespace: 'session-1' })],
  [40, 'a bus that answers later', () => createEventStore({ bus: new SlowBus(), namespace: 'session-1' })],
  [
    40,
    'a bus that is behind its backend',
    () => createEventStore({ bus: new LaggingBus(), namespace: 'session-1' }),
  ],
]

describe.each([SDK_1, SDK_2])('over $name', (sdk) => {
  it.each(STORES)(
    'through %i cuts mid-call with %s, each notification and each result arrives once',
    async (cuts, _, makeStore) => {
      const { server, proxy, client } = await sessionOver(sdk, makeStore(), drawFrom(4711))
      const results: string[] = []
      let calls = 0
      let said = 0
      while (proxy.cuts < cuts) {
        const names = numbers(1, 4).map(() => `call ${++calls}`)
        const counting = Promise.all(names.map((name) => client.count(name, NOTES)))
        for (const _ of numbers(1, 5)) {
          await server.tell(`${++said}`)
          await pause(2)
        }
        results.push(...(await counting))
      }
      const loose = () => client.told.get('')?.filter((text) => text !== 'hello') ?? []
      await until(() => loose().at(-1) === `${said}`, 'what was told last')

      for (const n of numbers(1, calls)) {
        expect(client.told.get(`call ${n}`), `call ${n}`).toEqual(numbers(1, NOTES).map(String))
      }
      expect(results).toEqual(numbers(1, calls).map((n) => `call ${n} is done`))
      expect(loose()).toEqual(numbers(1, said).map(String))
      // Such as an answer to a call that has been answered.
      expect(
        client.errors.filter((error) => !/disconnected|fetch failed|Conflict|reconnect/.test(error)),
      ).toEqual([])
    },
    30_000,
  )

  it('a client that is refused while the server has its predecessor comes back', async () => {
    // Every stream goes on without a client behind its second block.
    const draw: Draw = (below) => (below === 3 ? 2 : 1)
    let refused = () => false
    const pace: Pace = (n) => (n < 4 ? Promise.resolve() : until(refused))
    const { proxy, client } = await sessionOver(sdk, createEventStore(), draw, pace)
    const before = proxy.refused
    refused = () => proxy.refused > before
    expect(await client.count('call', 10)).toBe('call is done')
    expect(client.told.get('call')).toEqual(numbers(1, 10).map(String))
  })
})
