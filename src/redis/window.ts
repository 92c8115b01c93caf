/** What one node keeps of a stream: its newest events, shared by all of its subscribers, never with a hole. */

import type { BusEvent } from '../core/event.ts'
import { EventLog, type Retained } from '../core/log.ts'
import type { CheckedRedisOptions } from './options.ts'

/** Events at the most: older ones are read from Redis. */
const LENGTH = 1024

/** A window at one moment: the events from `earliestId` to `head`, however far it moves on. */
export interface View {
  readonly epoch: string
  readonly earliestId: number
  readonly head: number
  readonly retained: Retained
}

export class Window {
  readonly epoch: string
  /** The last event's, empty where none was read. */
  mark = ''
  /** The oldest id that the stream was seen to retain. */
  firstId: number
  readonly #start: number
  readonly #ringSize: number
  readonly #log: EventLog

  /** Empty, behind `head`. */
  constructor({ ringSize, maxRingBytes }: CheckedRedisOptions, epoch: string, head: number) {
    this.epoch = epoch
    this.firstId = head + 1
    this.#start = head
    this.#ringSize = ringSize
    this.#log = new EventLog({ ringSize: Math.min(ringSize, LENGTH), maxRingBytes, startAfterId: head })
  }

  get head(): number {
    return this.#log.lastId
  }

  get bytes(): number {
    return this.#log.bytes
  }

  /** The oldest id that the stream retains, by what was read. */
  get earliestAvailableId(): number {
    const { earliestId, size } = this.#log
    // A window that has lost events though it has room lost them to the byte cap, as the stream did.
    const capped = this.#start + size < this.head && size < Math.min(this.#ringSize, LENGTH)
    return Math.max(this.firstId, this.head + 1 - this.#ringSize, capped ? earliestId : 0)
  }

  append(event: BusEvent, bytes: number, mark: string): void {
    this.#log.append(event, bytes)
    this.mark = mark
  }

  view(): View {
    const { epoch, head } = this
    return { epoch, head, earliestId: this.#log.earliestId, retained: this.#log.read() }
  }

  clear(): void {
    this.#log.clear()
  }
}
