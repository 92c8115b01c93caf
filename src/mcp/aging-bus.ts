import { type BusEvent, EventBus, type EventBusOptions, type Frame, type PublishInput } from '../index.ts'
import { after, now } from '../internal/timer.ts'
import type { MessageBus } from './reader.ts'

/**
 * A bus in memory whose events leave it by age as well.
 *
 * A bus lets its events go by count and by bytes only, so an old one is replaced by one that begins where the young events
 * do: the ids go on, and to readers it looks as if the ring had evicted the rest. That costs as much as it keeps, so it is
 * done when somebody wants to read, and otherwise once in `ttlMs`.
 */
export class AgingBus implements MessageBus {
  #bus: EventBus
  readonly #options: EventBusOptions
  readonly #ttlMs: number
  /** A sweep is to come, since something is retained. */
  #sweeping = false

  constructor(options: EventBusOptions, ttlMs: number) {
    this.#bus = new EventBus(options)
    this.#options = options
    this.#ttlMs = ttlMs
  }

  get epoch(): string {
    return this.#bus.epoch
  }

  publish(input: PublishInput): BusEvent | undefined {
    this.#sweepLater()
    return this.#bus.publish({ ...input, at: now() })
  }

  subscribe(options: Parameters<EventBus['subscribe']>[0]): ReturnType<EventBus['subscribe']> {
    this.#expire()
    return this.#bus.subscribe(options)
  }

  #sweepLater(): void {
    if (this.#sweeping) return
    this.#sweeping = true
    after(this.#ttlMs, () => {
      this.#sweeping = false
      this.#expire()
      if (this.#bus.earliestAvailableId <= this.#bus.lastEventId) this.#sweepLater()
    })
  }

  #expire(): void {
    const limit = now() - this.#ttlMs
    const old = this.#bus
    const retained = old.subscribe({ from: 'earliest' })
    const isOld = (frame: Frame | undefined) => frame?.id !== undefined && (frame.at as number) <= limit
    let frame = retained.tryNext()
    if (isOld(frame)) {
      while (isOld(frame)) frame = retained.tryNext()
      const young: BusEvent[] = []
      for (; frame?.id !== undefined; frame = retained.tryNext()) young.push(frame)
      this.#bus = new EventBus({
        ...this.#options,
        epoch: old.epoch,
        startAfterId: old.lastEventId - young.length,
      })
      for (const event of young) this.#bus.publish(event)
      // Whoever reads it is done, and goes on where the events are now.
      old.end()
    }
    void retained.return()
  }
}
