/**
 * What the conformance suite knows of a bus, and the words it reads with. Nothing here concludes from a frame that has
 * not come yet: frames are awaited, and that nothing stands before an event is seen by publishing one.
 */

import type { BusEvent, BusLike, Diagnostic, EventBus, EventBusOptions, Frame } from '../../src/index.ts'
import { eventOfSize } from '../support/bus.ts'
import { DONE, EPOCH, type Notation, notationOf } from '../support/frames.ts'
import { within } from '../support/until.ts'

/** `BusLike`, and what else the contract gives every bus. */
export type ConformingBus = BusLike &
  Pick<EventBus, 'subscriberCount' | 'stats'> &
  Partial<Disposable & AsyncDisposable>

export type OpenOptions = Pick<
  EventBusOptions,
  'ringSize' | 'maxRingBytes' | 'maxSubscribers' | 'maxQueued' | 'maxQueuedBytes' | 'onDiagnostic'
>

export interface Opened {
  readonly bus: ConformingBus
  /** A further node on the same log, with the same options. */
  another?(): Promise<ConformingBus>
  /** Closes every node and frees what they hold. */
  close(): Promise<void>
}

/** What only some backends have. A backend without one is held to the weaker promise beside it, where there is one. */
export type Trait =
  /** Without a byte cap `data` is any value. Else: data that JSON cannot carry is refused. */
  | 'any data'
  /** A replay that was begun is complete, however far the ring moves on and if the bus is closed. Else: gaps are told. */
  | 'lasting replay'
  /** `stats()` has `ringEvents` and `ringBytes` of the log. */
  | 'ring figures'
  /** `open` returns `another`. */
  | 'several nodes'

export interface Backend {
  readonly supports: readonly Trait[]
  /** A new log with nothing in it, and a node on it. Rejects for bad options as `new EventBus` throws. */
  open(options: OpenOptions): Promise<Opened>
}

/** What each part of the suite is given: everything opened is closed behind the test. */
export interface World {
  has(trait: Trait): boolean
  open(options?: OpenOptions): Promise<Opened>
  /** A bus that has published 1..count. */
  busWith(count: number, options?: OpenOptions): Promise<ConformingBus>
}

export async function publishEvent(
  bus: ConformingBus,
  input: Parameters<BusLike['publish']>[0],
): Promise<BusEvent> {
  const event = await bus.publish(input)
  if (event === undefined) throw new Error(`the bus refused a plain event after ${bus.lastEventId}`)
  return event
}

/** Publishes `count` events, one behind the other, and returns their ids. */
export async function publish(bus: ConformingBus, count: number): Promise<number[]> {
  const ids: number[] = []
  for (let i = 0; i < count; i++) ids.push((await publishEvent(bus, { type: 'tick', data: i })).id)
  return ids
}

/** Publishes events whose envelopes are exactly that many bytes long. */
export async function publishBytes(bus: ConformingBus, ...sizes: number[]): Promise<void> {
  for (const bytes of sizes) await publishEvent(bus, eventOfSize(bytes, bus.lastEventId + 1))
}

type Reading<T> = Pick<AsyncIterator<T, unknown>, 'next'>

/** The next frame, or undefined at the end. */
export async function nextFrame<T>(stream: Reading<T>): Promise<T | undefined> {
  const result = await within(stream.next(), 'the next frame', 4000)
  return result.done === true ? undefined : result.value
}

/** Exactly `count` frames, or fewer and `DONE`. */
export async function read(stream: Reading<Frame>, count: number): Promise<Notation[]> {
  const frames: Notation[] = []
  while (frames.length < count && frames.at(-1) !== DONE) {
    const frame = await nextFrame(stream)
    frames.push(frame === undefined ? DONE : notationOf(frame))
  }
  return frames
}

/** Everything up to `DONE`, of a stream that ends by itself. */
export function rest(stream: Reading<Frame>): Promise<Notation[]> {
  return read(stream, Number.POSITIVE_INFINITY)
}

/** What the stream has before an event that is published now; the event is read too. */
export async function beforeNext(bus: ConformingBus, stream: Reading<Frame>): Promise<Notation[]> {
  const { id } = await publishEvent(bus, { type: 'sentinel' })
  const frames: Notation[] = []
  for (;;) {
    const [frame] = await read(stream, 1)
    if (frame === id) return frames
    frames.push(frame as Notation)
    if (frame === DONE) return frames
  }
}

/** The same stream, frame by frame, read in batches. */
export async function* unbatched(stream: { batches(): AsyncIterable<Frame[]> }): AsyncGenerator<Frame> {
  for await (const batch of stream.batches()) yield* batch
}

/** The frames of a bus named `EPOCH` as those of this one. */
export function ofBus(bus: ConformingBus, frames: readonly Notation[]): Notation[] {
  return frames.map((frame) =>
    typeof frame === 'object' && frame.epoch === EPOCH ? { ...frame, epoch: bus.epoch } : frame,
  )
}

type Report<Type> = Extract<Diagnostic, { type: Type }>

/** Diagnostics, which may come behind the publish that they are about. */
export class Reports {
  readonly #heard: Diagnostic[] = []
  #wake = () => {}

  readonly onDiagnostic = (report: Diagnostic): void => {
    this.#heard.push(report)
    this.#wake()
  }

  /** The first `count` of one type, as soon as there are so many. */
  async first<Type extends Diagnostic['type']>(type: Type, count = 1): Promise<Report<Type>[]> {
    for (;;) {
      const some = this.#heard.filter((report): report is Report<Type> => report.type === type)
      if (some.length >= count) return some.slice(0, count)
      const heard = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await within(heard, `${type}, of which there are ${some.length}`, 4000)
    }
  }
}
