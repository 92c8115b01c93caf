import { describe, expect, it } from 'vitest'
import { createResyncGate } from '../../src/client/gate.ts'
import type { Frame } from '../../src/index.ts'
import { brief, Deferred, event, events, Feed, loads, resync } from '../support/gate-frames.ts'
import { drained, flush, settled } from '../support/reading.ts'

const DONE = { value: { value: undefined, done: true } }

/** Everything that is ready, briefly; `done` behind it where the stream has ended. Leaves one read waiting. */
async function _ready(stream: AsyncIterableIterator<Frame, undefined>) {
  const { values, ended } = await drained(stream)
  return ended ? [...brief(values), 'done'] : brief(values)
}

function raise(message: string): never {
  throw new Error(message)
}

describe('ending through', () => {
  type Ending = (stream: AsyncIterableIterator<Frame, undefined> & Partial<AsyncDisposable>) => unknown
  const endings: [string, Ending][] = [
    ['return', (stream) => stream.return?.()],
    ['throw', (stream) => stream.throw?.(new Error('over')).catch(() => {})],
    ['dispose', (stream) => stream[Symbol.asyncDispose]?.()],
  ]

  it.each(endings)(
    'by %s settles at once while reads are pending, and ends the source',
    async (_name, end) => {
      const { onResync } = loads()
      const source = new Feed().push(resync(), event(5))
      const stream = createResyncGate({ onResync }).through(source)
      await stream.next()
      const reads = [stream.next(), stream.next()]
      const ended = end(stream)
      expect(await settled(Promise.all(reads))).toEqual({ value: [DONE.value, DONE.value] })
      await ended
      expect(source.returned).toBe(1)
      expect(await settled(stream.next())).toEqual(DONE)
    },
  )

  it.each(endings)('by %s ends a source that was never read, and does so once', async (_name, end) => {
    const source = new Feed()
    const stream = createResyncGate().through(source)
    await end(stream)
    await end(stream)
    expect([source.asked, source.returned]).toEqual([0, 1])
  })

  it('gives back the value of return and the error of throw', async () => {
    const { through } = createResyncGate()
    expect(await through(new Feed()).return?.(5 as never)).toEqual({ value: 5, done: true })
    await expect(through(new Feed()).throw?.(new Error('mine'))).rejects.toThrow('mine')
  })

  it('waits for no generator that is stuck, and survives a return that fails', async () => {
    async function* stuck(): AsyncGenerator<Frame> {
      await new Promise(() => {})
    }
    const stream = createResyncGate().through(stuck())
    const read = stream.next()
    expect(await settled(stream.return?.() as Promise<unknown>)).toEqual(DONE)
    expect(await settled(read)).toEqual(DONE)

    for (const fails of [() => raise('return'), () => Promise.reject(new Error('return'))]) {
      const source = Object.assign(new Feed(), { return: fails })
      expect(await settled(createResyncGate().through(source).return?.() as Promise<unknown>)).toEqual(DONE)
    }
  })

  it('by break ends the source', async () => {
    const source = new Feed().push(event(1), event(2))
    for await (const frame of createResyncGate().through(source)) {
      expect(frame.id).toBe(1)
      break
    }
    expect(source.returned).toBe(1)
  })

  it('leaves what was released and not read to the next push', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    const stream = gate.through(new Feed().push(resync(), ...events(5, 7)))
    await stream.next()
    const read = stream.next()
    await flush()
    await finish(0, 4)
    expect((await read).value?.id).toBe(5)
    await stream.return?.()
    expect(brief(gate.push(event(8)))).toEqual([6, 7, 8])
  })

  it('leaves to the next push what the source gave ahead of the reads', async () => {
    const { onResync, finish } = loads()
    const gate = createResyncGate({ onResync })
    const source = new Feed().push(resync(), event(5))
    const stream = gate.through(source)
    await stream.next()
    const read = stream.next()
    await flush()
    await finish(0, 4)
    await read
    source.push(event(6))
    await flush()
    await stream.return?.()
    expect(brief(gate.push(event(7)))).toEqual([6, 7])
  })

  it('keeps an error of the source that comes later to itself', async () => {
    const asked = new Deferred<never>()
    const source = { next: () => asked.promise }
    const gate = createResyncGate()
    const stream = gate.through({ [Symbol.asyncIterator]: () => source })
    void stream.next()
    await stream.return?.()
    asked.reject(new Error('late'))
    await flush()
    expect(brief(gate.push(event(1)))).toEqual([1])
  })
})
