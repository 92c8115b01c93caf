import type { BusLike, Frame, StateResyncRequired, Subscription } from '../index.ts'
import { after } from '../internal/timer.ts'
import { replayFailure } from './errors.ts'

/** What a store asks of its bus. */
export type MessageBus = Pick<BusLike, 'epoch' | 'publish' | 'subscribe'> & {
  /** Of a bus that other processes publish on: resolves when this one has what they were told is there. */
  catchUp?(): Promise<void>
}

/** The last message of an epoch that is known to be on the bus. */
export interface Head {
  readonly epoch: string
  readonly number: number
}

/** How long a bus may give nothing while there is something to come, in milliseconds. */
const PATIENCE = 30_000

/**
 * Reads a bus from one place to its head, every event of it: a filter would leave unknown how far the reading has come.
 */
export class Reader {
  /** Every event up to here was read. */
  position: number
  readonly #bus: MessageBus
  #subscription: Subscription<Frame>
  /** Where it began. */
  #from: number
  /** The replay is behind it. */
  #live = false

  /** Throws what `subscribe` throws. */
  constructor(bus: MessageBus, epoch: string, position: number) {
    this.#bus = bus
    this.position = this.#from = position
    this.#subscription = this.#subscribe(epoch)
  }

  /** The next frame, if it is there. */
  poll(): Frame | undefined {
    const frame = this.#subscription.tryNext()
    return frame && this.#read(frame)
  }

  /**
   * The next frame. Undefined where the bus gives no more; rejects where it gives nothing for `PATIENCE`.
   *
   * A subscription that ends having given something was evicted, or its bus replaced: the reading goes on where it is.
   */
  async next(): Promise<Frame | undefined> {
    const frame = this.poll() ?? (await this.#wait())
    if (frame || this.position === this.#from) return frame
    this.#from = this.position
    this.#subscription = this.#subscribe(this.#subscription.epoch)
    return this.next()
  }

  /** Whether everything was read that was on the bus at the start, and everything up to `head`. */
  reached(head: Head): boolean {
    return this.#live && (head.epoch !== this.#subscription.epoch || head.number <= this.position)
  }

  close(): void {
    void this.#subscription.return()
  }

  #subscribe(epoch: string): Subscription<Frame> {
    return this.#bus.subscribe({ lastEventId: this.position, epoch, warnings: false })
  }

  async #wait(): Promise<Frame | undefined> {
    let late = false
    const cancel = after(PATIENCE, () => {
      late = true
      this.close()
    })
    try {
      const { value } = await this.#subscription.next()
      if (late) throw replayFailure('backend_unavailable', 'the bus gives no messages')
      return value && this.#read(value)
    } catch (error) {
      this.close()
      throw error
    } finally {
      cancel()
    }
  }

  #read(frame: Frame): Frame {
    if (frame.id !== undefined) this.position = frame.id
    else if (frame.type === 'replay_complete') this.#live = true
    else if (frame.type === 'state_resync_required') {
      this.position = (frame as StateResyncRequired).data.earliestAvailableId - 1
    }
    return frame
  }
}
