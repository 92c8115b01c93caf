/** A bus on another backend: `publish` returns a promise, and the test says when an event is delivered and when it resolves. */

import {
  type BusEvent,
  type BusLike,
  EventBus,
  type Frame,
  type PublishInput,
  type SubscribeOptions,
  type Subscription,
} from '../../src/index.ts'

interface Publishing {
  readonly input: PublishInput
  event: BusEvent | undefined
  settle(event: BusEvent | undefined): void
  fail(error: unknown): void
}

export class AsyncBus implements BusLike {
  inner = new EventBus()
  /** What was published and has not resolved. */
  readonly pending: Publishing[] = []
  readonly #subscriptions = new Set<{ sub: Subscription<Frame>; fail: (error: unknown) => void }>()

  get epoch(): string {
    return this.inner.epoch
  }

  get lastEventId(): number {
    return this.inner.lastEventId
  }

  get earliestAvailableId(): number {
    return this.inner.earliestAvailableId
  }

  get ended(): boolean {
    return this.inner.ended
  }

  get closed(): boolean {
    return this.inner.closed
  }

  subscribe(options?: Parameters<BusLike['subscribe']>[0]): Subscription<Frame> {
    const sub = this.inner.subscribe(options)
    const entry = { sub, fail: (_: unknown) => {} }
    this.#subscriptions.add(entry)
    const receive = sub.receive.bind(sub)
    sub.receive = (resolve, reject) => {
      entry.fail = reject
      receive(resolve, reject)
    }
    return sub
  }

  publish(input: PublishInput): Promise<BusEvent | undefined> {
    return new Promise((settle, fail) => this.pending.push({ input, event: undefined, settle, fail }))
  }

  end(): void {
    this.inner.end()
  }

  close(options?: { drain?: boolean | undefined }): void {
    this.inner.close(options)
  }

  /** Gives the oldest event that has none its id, and to the subscribers; its publisher does not know yet. */
  deliver(): void {
    const publishing = this.pending.find((one) => one.event === undefined)
    if (publishing) publishing.event = this.inner.publish(publishing.input)
  }

  /** Tells the oldest publisher. */
  resolve(): void {
    const publishing = this.pending.shift()
    publishing?.settle(publishing.event ?? this.inner.publish(publishing.input))
  }

  /** The oldest publisher is told that the backend is away. */
  fail(): void {
    this.pending.shift()?.fail(Object.assign(new Error('away'), { code: 'backend_unavailable' }))
  }

  failSubscriptions(): void {
    for (const { fail } of this.#subscriptions) fail(new Error('away'))
  }

  endSubscriptions(): void {
    for (const { sub } of this.#subscriptions) void sub.return()
  }

  /** The backend lost everything: ids start again, in a new epoch. */
  recreate(): void {
    this.inner = new EventBus()
  }
}

/** Every publish is delivered and resolves some turns later, in order. */
export class SlowBus extends AsyncBus {
  override publish(input: PublishInput): Promise<BusEvent | undefined> {
    const published = super.publish(input)
    setImmediate(() => this.resolve())
    return published
  }
}

/** Every publish resolves before this process has the event: the backend has it, and the reader is behind. */
export class LaggingBus extends AsyncBus {
  #last = 0

  /** A cursor that the reader has not reached waits. */
  override subscribe(options: SubscribeOptions = {}): Subscription<Frame> {
    const cursor = options.lastEventId ?? 0
    if (cursor > this.#last || cursor <= this.inner.lastEventId) return super.subscribe(options)
    const { lastEventId } = this.inner
    return super.subscribe({ ...options, lastEventId, filter: ({ id }) => id > cursor })
  }

  override end(): void {
    setTimeout(() => super.end(), 2)
  }

  override publish(input: PublishInput): Promise<BusEvent | undefined> {
    if (this.ended) return Promise.resolve(undefined)
    const event = { ...input, id: ++this.#last, v: 1 } as BusEvent
    setTimeout(() => this.inner.publish(input), 2)
    return new Promise((resolve) => setImmediate(() => resolve(event)))
  }
}
