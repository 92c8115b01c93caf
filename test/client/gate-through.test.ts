import { describe, expect, it } from 'vitest'
import { createResyncGate, type ResyncGate } from '../../src/client/index.ts'
import { EventBus, type Frame } from '../../src/index.ts'
import { publish } from '../support/bus.ts'
import { brief, COMPLETE, event, events, Feed, loads, resync } from '../support/gate-frames.ts'
import { drained, flush, settled } from '../support/reading.ts'

const DONE = { value: { value: undefined, done: true } }

/** Everything that is ready, briefly; `done` behind it where the stream has ended. Leaves one read waiting. */
async function ready(stream: AsyncIterableIterator<Frame, undefined>) {
  const { values, ended } = await drained(stream)
  return ended ? [...brief(values), 'done'] : brief(values)
}

describe('through', () => {
  it('is what push would have given, and ends with its source', async () => {
    const gate = createResyncGate()
    const source = new Feed().push(event(1), COMPLETE, event(2)).end()
    const stream = gate.through(source)
    expect(await ready(stream)).toEqual([1, 'replay_complete', 2, 'done'])
    expect(await settled(stream.next())).toEqual(DONE)
    expect(source.returned).toBe(0)
  })

  it('asks its source only when it is asked, and for one frame at a time', async () => {
    const source = new Feed().push(...events(1, 5))
    const stream = createResyncGate().through(source)
    await flush()
    expect(source.asked).toBe(0)
    await stream.next()
    await flush()
    expect(source.asked).toBe(1)
  })

  it('yields what was released at once, also while its source is silent', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    const source = new Feed().push(resync(), ...events(5, 7))
    const stream = gate.through(source)
    expect(await ready(stream)).toEqual(['ring_evicted'])
    await finish(0, 5)
    expect(await ready(stream)).toEqual([6, 7])
    source.push(event(8))
    expect(await ready(stream)).toEqual([8])
    // The question that was open while the gate opened was asked once.
    expect(source.asked).toBe(6)
  })

  it('yields what resynced released by hand, and then resynced returns nothing', async () => {
    const gate = createResyncGate()
    const stream = gate.through(new Feed().push(resync(), ...events(5, 7)))
    expect(await ready(stream)).toEqual(['ring_evicted'])
    expect(gate.resynced(5)).toEqual([])
    expect(await ready(stream)).toEqual([6, 7])
  })

  it('leaves it to resynced before it is read and after it has ended', async () => {
    const gate = createResyncGate()
    const stream = gate.through(new Feed())
    gate.push(resync())
    gate.push(event(5))
    expect(brief(gate.resynced(4))).toEqual([5])
    void stream.next()
    await stream.return?.()
    gate.push(resync())
    gate.push(event(5))
    expect(brief(gate.resynced(4))).toEqual([5])
  })

  it('lets no later frame pass before what was released was read', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    const source = new Feed().push(resync(), event(5), event(6))
    const stream = gate.through(source)
    expect(brief([(await stream.next()).value as Frame])).toEqual(['ring_evicted'])
    const pending = stream.next()
    await flush()
    await finish(0, 4)
    // The source answers while 6 is not read yet: the gate must not shut behind the reader's back.
    source.push(resync(9), event(9))
    await flush()
    expect((await pending).value?.id).toBe(5)
    expect(onResync).toHaveBeenCalledTimes(1)
    expect((await stream.next()).value?.id).toBe(6)
    expect(await ready(stream)).toEqual(['ring_evicted'])
    expect(onResync).toHaveBeenCalledTimes(2)
    await finish(1, 8)
    expect(await ready(stream)).toEqual([9])
  })

  it('says that too much was held, and loads again', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync, maxHeld: 2 })
    const stream = gate.through(new Feed().push(resync(), ...events(5, 8)))
    expect(await ready(stream)).toEqual(['ring_evicted', 'gate_overflow'])
    await finish(0, 5)
    await finish(1, 7)
    expect(await ready(stream)).toEqual([8])
  })

  it('answers overlapping reads first come, first served, thousands of them', async () => {
    const source = new Feed()
    const stream = createResyncGate().through(source)
    const reads = Array.from({ length: 5001 }, () => stream.next())
    source.push(...events(1, 5000)).end()
    const results = await Promise.all(reads)
    expect(results.map(({ value }) => value?.id)).toEqual([...events(1, 5000).map(({ id }) => id), undefined])
    expect(results.at(-1)?.done).toBe(true)
  })

  it('reads a subscription of a bus', async () => {
    const bus = new EventBus({ epoch: 'e1', ringSize: 2 })
    publish(bus, 5)
    const gate = createResyncGate({ onResync: () => bus.lastEventId })
    const stream = gate.through(bus.subscribe({ lastEventId: 1, epoch: 'e1' }))
    // The state that was loaded contains what is still to be replayed.
    publish(bus, 1)
    expect(await ready(stream)).toEqual(['ring_evicted', 'replay_complete'])
    publish(bus, 2)
    expect(await ready(stream)).toEqual([7, 8])
    bus.close()
    expect(await ready(stream)).toEqual(['done'])
    expect(bus.subscriberCount).toBe(0)
  })

  it('meets a callback that reads and opens while it is called', async () => {
    const reads: Promise<IteratorResult<Frame, undefined>>[] = []
    const gate: ResyncGate = createResyncGate({
      onResync: () => {
        reads.push(stream.next(), stream.next())
        gate.resynced(4)
      },
    })
    const stream = gate.through(new Feed().push(resync(), event(5), event(6)))
    reads.unshift(stream.next())
    await reads[0]
    const frames = (await Promise.all(reads)).map(({ value }) => value as Frame)
    expect(brief(frames)).toEqual(['ring_evicted', 5, 6])
  })
})

describe('a source that ends', () => {
  it('by its own signal ends the read that waits', async () => {
    const controller = new AbortController()
    const bus = new EventBus()
    const stream = createResyncGate().through(bus.subscribe({ signal: controller.signal }))
    const read = stream.next()
    await flush()
    controller.abort()
    expect(await settled(read)).toEqual(DONE)
  })

  it('while a load runs is waited upon: what the load releases comes, then the end', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    const stream = gate.through(new Feed().push(resync(), event(5), event(6)).end())
    expect(await ready(stream)).toEqual(['ring_evicted'])
    await finish(0, 5)
    expect(await ready(stream)).toEqual([6, 'done'])
  })

  it('while a load runs that brings nothing ends with it', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    const stream = gate.through(new Feed().push(resync(), event(5)).end())
    expect(await ready(stream)).toEqual(['ring_evicted'])
    await finish(0)
    expect(await ready(stream)).toEqual(['done'])
    expect(brief(gate.resynced(4))).toEqual([5])
  })

  it('without a load leaves the gate shut, and the next source goes on', async () => {
    const gate = createResyncGate()
    const first = gate.through(new Feed().push(resync(), event(5), event(6)).end())
    expect(await ready(first)).toEqual(['ring_evicted', 'done'])
    expect(gate.shut).toBe(true)
    const second = gate.through(new Feed().push(event(7), COMPLETE))
    expect(await ready(second)).toEqual(['replay_complete'])
    gate.resynced(5)
    expect(await ready(second)).toEqual([6, 7])
  })

  it('with an error passes it on, once, and then is done', async () => {
    const source = new Feed().push(event(1)).fail(new Error('cut'))
    const stream = createResyncGate().through(source)
    expect((await stream.next()).value?.id).toBe(1)
    await expect(stream.next()).rejects.toThrow('cut')
    expect(await settled(stream.next())).toEqual(DONE)
    expect(source.returned).toBe(0)
  })

  it('with an error fails the first of the reads that wait and ends the others', async () => {
    const source = new Feed()
    const stream = createResyncGate().through(source)
    const reads = [stream.next(), stream.next(), stream.next()]
    source.fail(new Error('cut'))
    const [first, ...others] = await Promise.allSettled(reads)
    expect(first).toMatchObject({ status: 'rejected', reason: new Error('cut') })
    expect(others.map((other) => other.status === 'fulfilled' && other.value)).toEqual([
      DONE.value,
      DONE.value,
    ])
  })

  it.each([
    ['throws', () => ({ next: () => raise('cut') })],
    ['gives no promise', () => ({ next: () => ({ value: event(1), done: false }) })],
  ])('or %s in next() does no harm', async (name, iterator) => {
    const stream = createResyncGate().through({ [Symbol.asyncIterator]: iterator } as never)
    if (name === 'throws') await expect(stream.next()).rejects.toThrow('cut')
    else expect((await stream.next()).value?.id).toBe(1)
  })
})

it.each([undefined, null, 5])('a source that answers %o is refused, and ended', async (answer) => {
  let returned = 0
  const source = {
    [Symbol.asyncIterator]: () => ({ next: async () => answer, return: async () => returned++ }),
  }
  const stream = createResyncGate().through(source as never)
  await expect(stream.next()).rejects.toThrow(/^frame must be/)
  expect(await settled(stream.next())).toEqual(DONE)
  expect(returned).toBe(1)
})

function raise(message: string): never {
  throw new Error(message)
}

describe('an onResync that rejects', () => {
  it('is thrown by the read that waits, and ends the source', async () => {
    const { onResync, fail } = loads()
    const gate = createResyncGate({ onResync })
    const source = new Feed().push(resync(), event(5))
    const stream = gate.through(source)
    await stream.next()
    const read = stream.next()
    await fail(0)
    await expect(read).rejects.toThrow('load')
    expect(await settled(stream.next())).toEqual(DONE)
    expect([source.returned, gate.shut]).toEqual([1, true])
    expect(brief(gate.resynced(4))).toEqual([5])
  })

  it('is thrown also where the source has ended meanwhile', async () => {
    const gate = createResyncGate({ onResync: () => Promise.reject(new Error('load')) })
    const stream = gate.through(new Feed().push(resync()).end())
    expect((await stream.next()).done).toBe(false)
    await expect(stream.next()).rejects.toThrow('load')
  })

  it('is thrown by the next read where none waits, behind what is ready', async () => {
    const { onResync, fail } = loads()
    const gate = createResyncGate({ onResync })
    const stream = gate.through(new Feed().push(resync(), COMPLETE))
    expect((await stream.next()).done).toBe(false)
    await fail(0)
    await expect(stream.next()).rejects.toThrow('load')
  })

  it('is not thrown twice', async () => {
    const { onResync, fail } = loads()
    const gate = createResyncGate({ onResync })
    const stream = gate.through(new Feed().push(resync()))
    await stream.next()
    await fail(0)
    await expect(stream.next()).rejects.toThrow('load')
    expect(brief(gate.push(COMPLETE))).toEqual(['replay_complete'])
  })

  it('keeps a frame that its source gave after the reader had left', async () => {
    const gate = createResyncGate()
    const bus = new EventBus()
    const frames = gate.through(bus.subscribe())
    void frames.next()
    await Promise.resolve()
    bus.publish({ type: 'a' })
    void frames.return?.()
    await flush()
    expect(gate.push(event(2)).map(({ id }) => id)).toEqual([1, 2])
  })

  it('keeps the failure of its source from later pushes', async () => {
    const gate = createResyncGate()
    let fail = (_error: Error) => {}
    const source = {
      next: () => new Promise<IteratorResult<Frame>>((_, reject) => (fail = reject)),
      [Symbol.asyncIterator]: () => source,
    }
    const frames = gate.through(source)
    void frames.next()
    void frames.return?.()
    fail(new Error('source'))
    await flush()
    expect(brief(gate.push(event(1)))).toEqual(brief([event(1)]))
  })
})
