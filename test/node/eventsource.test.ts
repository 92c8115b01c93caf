import { EventSource } from 'eventsource'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { serve } from '../support/http-server.ts'
import { makeBus, publishNotes, type SseOptions, serveBus } from '../support/http-surfaces.ts'
import { idsFrom } from '../support/http-transcript.ts'
import { settle, until } from '../support/until.ts'

const CONTROL = [
  'state_resync_required',
  'replay_complete',
  'client_evicted',
  'stream_error',
  'slow_client_warning',
]

/** A conforming client that nobody here wrote, and all it lets a page see. */
function listen(url: string) {
  const requests: (string | null)[] = []
  const source = new EventSource(url, {
    fetch: (input, init) => {
      requests.push(new Headers(init.headers).get('last-event-id'))
      return fetch(input, init)
    },
  })
  onTestFinished(() => source.close())
  const seen: { type: string; id: string; data: unknown }[] = []
  for (const type of ['note', 'message', 'cursor', 'error', ...CONTROL]) {
    source.addEventListener(type, (event) => {
      if (event instanceof MessageEvent || 'data' in event) {
        const { data, lastEventId } = event as MessageEvent
        seen.push({ type, id: lastEventId, data: data === '' ? '' : JSON.parse(data) })
      }
    })
  }
  const of = (type: string) => seen.filter((event) => event.type === type)
  return { source, seen, requests, of, ids: () => of('note').map(({ id }) => Number(id.split(':')[1])) }
}

const FAST: SseOptions = { retryMs: 10 }

describe('npm `eventsource`', () => {
  it('survives a cut: nothing lost, nothing doubled', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, FAST)
    const client = listen(server.url())
    await until(() => bus.subscriberCount === 1)
    publishNotes(bus, 3)
    await until(() => client.ids().length === 3)
    for (let cut = 0; cut < 5; cut++) {
      server.exchanges.at(-1)?.res.destroy()
      publishNotes(bus, 3)
      await until(() => client.ids().length === 3 + (cut + 1) * 3)
    }
    expect(client.ids()).toEqual(idsFrom(1, 18))
    expect(client.of('state_resync_required')).toEqual([])
    expect(client.of('message')).toEqual([])
    client.source.close()
  })

  it('that is cut before the first event resumes all the same', async () => {
    const bus = makeBus()
    publishNotes(bus, 7)
    const server = await serveBus(bus, FAST)
    const client = listen(server.url())
    await until(() => client.of('cursor').length === 1 || bus.subscriberCount === 1)
    await settle(5)
    server.exchanges[0]?.res.destroy()
    publishNotes(bus, 3)
    await until(() => client.ids().length === 3)
    expect(client.requests.slice(0, 2)).toEqual([null, 'e1:7'])
    expect(client.ids()).toEqual([8, 9, 10])
    expect(client.of('message')).toEqual([])
    client.source.close()
  })

  it('is told once when the bus was restarted, though the new one has got further', async () => {
    const before = makeBus({ epoch: 'before' })
    const after = makeBus({ epoch: 'after' })
    publishNotes(after, 10)
    let current = before
    const server = await serve((req, res) => serveSse(current, req, res, FAST))
    const client = listen(server.url())
    await until(() => before.subscriberCount === 1)
    publishNotes(before, 5)
    await until(() => client.ids().length === 5)
    current = after
    before.close()
    await until(() => client.of('replay_complete').length === 1)
    publishNotes(after, 1)
    await until(() => client.ids().length === 16)
    expect(client.of('state_resync_required').map(({ data }) => (data as { data: unknown }).data)).toEqual([
      {
        reason: 'epoch_reset',
        detail: 'epoch_mismatch',
        lastDeliveredId: 5,
        earliestAvailableId: 1,
        epoch: 'after',
      },
    ])
    expect(client.ids()).toEqual([...idsFrom(1, 5), ...idsFrom(1, 11)])
    server.exchanges.at(-1)?.res.destroy()
    publishNotes(after, 1)
    await until(() => client.ids().length === 17)
    expect(client.of('state_resync_required')).toHaveLength(1)
    client.source.close()
  })

  it('stops for good when the bus has ended and it has everything', async () => {
    const bus = makeBus()
    const server = await serveBus(bus, FAST)
    const client = listen(server.url())
    await until(() => bus.subscriberCount === 1)
    publishNotes(bus, 2)
    bus.end()
    await until(() => client.source.readyState === client.source.CLOSED)
    expect(client.ids()).toEqual([1, 2])
    expect(client.requests).toEqual([null, 'e1:2'])
  })

  it('keeps its cursor through filtered events by the heartbeat’s cursor block', async () => {
    const bus = makeBus({ ringSize: 5 })
    const filter = ({ data }: { data: unknown }) => data === 'mine'
    const server = await serveBus(bus, { ...FAST, heartbeatMs: 20, filter })
    const client = listen(server.url())
    await until(() => bus.subscriberCount === 1)
    publishNotes(bus, 20, 'others')
    await until(() => client.of('cursor').length === 2)
    expect(client.of('cursor').map(({ id }) => id)).toEqual(['e1:0', 'e1:20'])
    server.exchanges[0]?.res.destroy()
    publishNotes(bus, 1, 'mine')
    await until(() => client.ids().length === 1)
    expect(client.of('state_resync_required')).toEqual([])
    client.source.close()
  })

  it('hears a named heartbeat and no message from a comment', async () => {
    const bus = makeBus()
    const named = await serveBus(bus, { ...FAST, heartbeatMs: 10, heartbeatEvent: 'note' })
    const client = listen(named.url())
    await until(() => client.of('note').length === 3)
    // A heartbeat has no id, so it cannot have moved the cursor.
    named.exchanges[0]?.res.destroy()
    await until(() => client.requests.length === 2)
    expect(client.requests).toEqual([null, 'e1:0'])
    const comments = await serveBus(bus, { ...FAST, heartbeatMs: 10 })
    const silent = listen(comments.url())
    await until(() => silent.of('cursor').length === 1)
    await until(() => (comments.exchanges[0]?.res.socket?.bytesWritten ?? 0) > 400)
    expect(silent.seen.map(({ type }) => type)).toEqual(['cursor'])
    client.source.close()
    silent.source.close()
  })
})
