/** Reading what is there now, without sleeping: a ready frame settles `next()` within a few microtasks. */

import type { Frame } from '../../src/index.ts'
import { DONE, type Notation, notationOf } from './frames.ts'

/** More microtasks than any `next()` of a ready frame may take. */
const TURNS = 20

type Reading<T> = Pick<AsyncIterator<T, unknown>, 'next'>

/** The settled value within a few microtasks, or undefined: nothing is ready. Rethrows a rejection. */
export async function settled<T>(promise: Promise<T>): Promise<{ value: T } | undefined> {
  let outcome: { value: T } | { error: unknown } | undefined
  promise.then(
    (value) => {
      outcome = { value }
    },
    (error: unknown) => {
      outcome = { error }
    },
  )
  for (let turn = 0; turn < TURNS && outcome === undefined; turn++) await undefined
  if (outcome !== undefined && 'error' in outcome) throw outcome.error
  return outcome
}

/** Lets everything that is ready now happen. */
export async function flush(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await undefined
}

/** The `next()` that found nothing and still waits; the next reader of the same stream takes it over. */
const waitingNext = new WeakMap<object, Promise<IteratorResult<unknown, unknown>>>()

async function readyResult<T>(stream: Reading<T>): Promise<IteratorResult<T, unknown> | undefined> {
  const pending = (waitingNext.get(stream) ?? stream.next()) as Promise<IteratorResult<T, unknown>>
  waitingNext.set(stream, pending)
  const outcome = await settled(pending)
  if (outcome === undefined) return undefined
  waitingNext.delete(stream)
  return outcome.value
}

/** Everything that is ready, then `ended`, or idle with one `next()` left waiting. */
export async function drained<T>(stream: Reading<T>): Promise<{ values: T[]; ended: boolean }> {
  const values: T[] = []
  for (;;) {
    const result = await readyResult(stream)
    if (result === undefined) return { values, ended: false }
    if (result.done === true) return { values, ended: true }
    values.push(result.value)
  }
}

/** Reads until idle, in short notation; ends in `DONE` where the stream has ended. Leaves one `next()` waiting. */
export async function framesOf(stream: Reading<Frame>): Promise<Notation[]> {
  const { values, ended } = await drained(stream)
  const notation = values.map(notationOf)
  return ended ? [...notation, DONE] : notation
}

/** Reads until idle, the frames themselves. */
export async function rawFramesOf(stream: Reading<Frame>): Promise<Frame[]> {
  return (await drained(stream)).values
}

/** Reads exactly `count` frames, each of which must be ready; leaves no `next()` waiting. */
export async function take(stream: Reading<Frame>, count: number): Promise<Notation[]> {
  return (await takeRaw(stream, count)).map(notationOf)
}

export async function takeRaw(stream: Reading<Frame>, count: number): Promise<Frame[]> {
  const frames: Frame[] = []
  while (frames.length < count) {
    const result = await readyResult(stream)
    if (result === undefined) throw new Error(`only ${frames.length} of ${count} frames are ready`)
    if (result.done === true) throw new Error(`the stream ended after ${frames.length} of ${count} frames`)
    frames.push(result.value)
  }
  return frames
}

/** True when `next()` has nothing to give now, and leaves it waiting. */
export async function isIdle(stream: Reading<Frame>): Promise<boolean> {
  const { values, ended } = await drained(stream)
  return values.length === 0 && !ended
}
