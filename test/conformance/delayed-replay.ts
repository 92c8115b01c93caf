/** A resumed stream that is judged late: against the log as it is once that could be asked, not as it was at `subscribe`. */

import type {
  BoundedAsyncQueue,
  BusEvent,
  Diagnostic,
  EventBus,
  Frame,
  StateResyncRequired,
  SubscribeOptions,
  Subscription,
} from '../../src/index.ts'

/** The frames of a subscription that come before its live ones, taken from the log when they are first asked for. */
export class DelayedReplay implements Iterable<Frame> {
  /** Where the replay is; undefined once its last frame, which has no id, was read. */
  position: number | undefined
  readonly #stream: EventBus
  readonly #options: SubscribeOptions
  readonly #head: number
  readonly #report: (diagnostic: Diagnostic) => void

  /** Live begins behind `head`, whatever the log holds by then. */
  constructor(
    stream: EventBus,
    options: SubscribeOptions,
    head: number,
    report: (diagnostic: Diagnostic) => void,
  ) {
    this.#stream = stream
    this.#options = options
    this.#head = head
    this.#report = report
    this.position = options.lastEventId ?? head
  }

  *[Symbol.iterator](): Iterator<Frame> {
    const { lastEventId, epoch, from } = this.#options
    const subscription = this.#stream.subscribe({
      lastEventId,
      epoch,
      from,
      filter: (event) => event.id <= this.#head && this.#passes(event),
    })
    for (let frame = subscription.tryNext(); frame !== undefined; frame = subscription.tryNext()) {
      if (frame.type === 'state_resync_required') yield* this.#resync(frame as StateResyncRequired)
      else {
        this.position = frame.id
        yield frame
        if (frame.id === undefined) break
      }
    }
    void subscription.return()
  }

  #passes(event: BusEvent): boolean {
    try {
      return this.#options.filter?.(event) ?? true
    } catch (error) {
      this.#report({ type: 'callback_error', error })
      return false
    }
  }

  /** What comes live is not lost, though the log has let go of it: then there is nothing to tell, or less. */
  *#resync({ data, ...frame }: StateResyncRequired): Iterable<Frame> {
    const earliestAvailableId = Math.min(data.earliestAvailableId, this.#head + 1)
    const { reason, lastDeliveredId = 0 } = data
    if (reason === 'ring_evicted' && earliestAvailableId <= lastDeliveredId + 1) return
    this.position = earliestAvailableId - 1
    const told = { ...frame, data: { ...data, earliestAvailableId } }
    this.#report({ type: told.type, data: told.data })
    yield Object.freeze(told)
  }
}

/** Puts a replay before what is live. */
export function resumed(live: Subscription, replay: DelayedReplay, epoch: string): Subscription {
  const livePosition = () => Reflect.get(Object.getPrototypeOf(live), 'position', live) as number
  Object.assign(live, { lastDeliveredId: replay.position, epoch })
  Object.defineProperty(live, 'position', { get: () => replay.position ?? livePosition() })
  ;(live as unknown as BoundedAsyncQueue<Frame>).forcePushAll(replay)
  return live
}

/** A subscription whose frames need until then to come. */
export function late(subscription: Subscription, when: Promise<void>): Subscription {
  let here = false
  const ready = when.then(() => {
    here = true
  })
  const { next, batches, tryNext, receive } = subscription
  return Object.assign(subscription, {
    next: () => ready.then(() => next.call(subscription)),
    batches: () => {
      const delayed = batches.call(subscription)
      const nextBatch = delayed.next
      delayed.next = () => ready.then(() => nextBatch())
      return delayed
    },
    tryNext: () => (here ? tryNext.call(subscription) : undefined),
    receive: (...callbacks: Parameters<Subscription['receive']>) => {
      void ready.then(() => receive.apply(subscription, callbacks))
    },
  } satisfies Partial<Subscription>)
}
