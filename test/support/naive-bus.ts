/**
 * What a bus does, written down as plainly as it can be: lists of everything, searched from the front, copied whole.
 * No structure of the real one is used here, so that the two can only agree by both being right.
 */

import { complete, DONE, EPOCH, evicted, type Notation, range, resync, warning } from './frames.ts'

export interface NaiveOptions {
  ringSize: number
  maxRingBytes: number
}

export interface NaiveSubscribe {
  lastEventId?: number
  epoch?: string
  from?: 'earliest' | { last: number }
  maxQueued: number
  maxQueuedBytes: number
  filter: (id: number) => boolean
  warnings: boolean
}

interface NaiveEvent {
  id: number
  size: number
}

/** A frame to be read; only a live event has a size. */
interface Entry {
  notation: Notation
  size?: number
}

const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0)

export class NaiveSubscription {
  /** Everything read so far, `DONE` for each read that found the end. */
  readonly read: Notation[] = []
  readonly options: NaiveSubscribe
  entries: Entry[] = []
  closed = false
  lastDeliveredId: number
  replayUnread: boolean
  #waiting = 0
  #armed = true
  #dropped = false
  #lastGiven: number
  /** The live ids from here on were handed out, queued or filtered, in this order. */
  #trail: { id: number; queued: boolean }[] = []
  readonly #start: number

  constructor(options: NaiveSubscribe, start: number, head: number, replay: Notation[] | undefined) {
    this.options = options
    this.lastDeliveredId = start
    this.#lastGiven = start
    this.#start = head
    this.replayUnread = replay !== undefined
    if (replay !== undefined) this.entries = replay.map((notation) => ({ notation }))
  }

  get #live(): number[] {
    return this.entries.flatMap((entry) => entry.size ?? [])
  }

  get queued(): number {
    return this.#live.length
  }

  get queuedBytes(): number {
    return sum(this.#live)
  }

  /**
   * Undefined while a replay is unread, since replayed events are filtered as the reader gets there; while nothing but
   * the terminal frame is left; and once frames were dropped.
   */
  get position(): number | undefined {
    const onlyTerminal = this.closed && this.entries.length > 0 && this.queued === 0
    if (this.replayUnread || this.#dropped || onlyTerminal) return undefined
    let position = this.#start
    for (const { id, queued } of this.#trail) {
      if (queued && this.entries.some((entry) => entry.notation === id)) break
      position = id
    }
    return position
  }

  #handOut(entry: Entry): void {
    this.read.push(entry.notation)
    if (typeof entry.notation === 'number') this.lastDeliveredId = entry.notation
    else if (entry.notation !== DONE && entry.notation.type === 'replay_complete') this.replayUnread = false
  }

  next(): void {
    const [first, ...rest] = this.entries
    if (first !== undefined) {
      this.entries = rest
      this.#handOut(first)
    } else if (this.closed) this.read.push(DONE)
    else this.#waiting++
  }

  nextBatch(): void {
    const batch = this.entries.slice(0, 256)
    this.entries = this.entries.slice(256)
    for (const entry of batch) this.#handOut(entry)
    if (batch.length === 0) this.next()
  }

  close(drain: boolean): void {
    this.closed = true
    if (!drain) this.#drop()
    for (; this.#waiting > 0; this.#waiting--) this.read.push(DONE)
  }

  #drop(): void {
    this.entries = []
    this.#dropped = true
  }

  /** `'evicted'` when the event did not fit. */
  offer(event: NaiveEvent): 'evicted' | 'warned' | undefined {
    const { maxQueued, maxQueuedBytes, filter, warnings } = this.options
    const bytes = Number.isFinite(maxQueuedBytes)
    const figures = () => ({
      queueSize: this.queued,
      maxQueued,
      ...(bytes ? { queuedBytes: this.queuedBytes, maxQueuedBytes } : {}),
    })
    if (this.queued <= 0.375 * maxQueued && this.queuedBytes <= 0.375 * maxQueuedBytes) this.#armed = true
    const wanted = filter(event.id)
    if (wanted) {
      const overCount = this.queued + 1 > maxQueued
      const overBytes = this.queued > 0 && this.queuedBytes + event.size > maxQueuedBytes
      if (overCount || overBytes) {
        const reason = overCount ? 'queue_overflow' : 'queue_bytes_overflow'
        this.entries.push({
          notation: evicted({ ...figures(), reason, droppedAfter: this.#lastGiven }),
        })
        this.close(true)
        return 'evicted'
      }
    }
    this.#trail.push({ id: event.id, queued: wanted })
    if (!wanted) return undefined
    this.#lastGiven = event.id
    if (this.#waiting > 0) {
      this.#waiting--
      this.#handOut({ notation: event.id })
      return undefined
    }
    this.entries.push({ notation: event.id, size: event.size })
    const high = this.queued >= 0.75 * maxQueued || this.queuedBytes >= 0.75 * maxQueuedBytes
    if (!(high && this.#armed && warnings)) return undefined
    this.#armed = false
    this.entries.push({ notation: warning({ ...figures(), lastEventId: event.id }) })
    return 'warned'
  }
}

export class NaiveBus {
  readonly #options: NaiveOptions
  readonly stats = { published: 0, rejected: 0, evicted: 0, warned: 0 }
  ring: NaiveEvent[] = []
  lastEventId = 0
  ended = false
  closed = false
  subscribers: NaiveSubscription[] = []

  constructor(options: NaiveOptions) {
    this.#options = options
  }

  get earliestAvailableId(): number {
    return this.ring[0]?.id ?? this.lastEventId + 1
  }

  get ringBytes(): number {
    return sum(this.ring.map((event) => event.size))
  }

  publish(size: number): void {
    if (this.ended) return
    const event = { id: ++this.lastEventId, size }
    this.stats.published++
    this.ring.push(event)
    while (this.ring.length > this.#options.ringSize || this.ringBytes > this.#options.maxRingBytes) {
      this.ring.shift()
    }
    for (const subscriber of [...this.subscribers]) {
      const outcome = subscriber.offer(event)
      if (outcome === 'warned') this.stats.warned++
      if (outcome !== 'evicted') continue
      this.stats.evicted++
      this.remove(subscriber)
    }
  }

  subscribe(options: NaiveSubscribe): NaiveSubscription {
    const { start, replay } = this.#replayOf(options)
    const over = this.closed || (this.ended && replay === undefined)
    const subscription = new NaiveSubscription(options, start, this.lastEventId, over ? undefined : replay)
    if (this.ended) subscription.close(true)
    else this.subscribers.push(subscription)
    return subscription
  }

  #replayOf(options: NaiveSubscribe): { start: number; replay?: Notation[] } {
    const { lastEventId, epoch, from, filter } = options
    const earliest = this.earliestAvailableId
    const framesAfter = (id: number): Notation[] => {
      const ids = range(id + 1, this.lastEventId).filter(
        (candidate) => candidate >= earliest && filter(candidate),
      )
      return [...ids, complete(ids.length, ids.at(-1))]
    }
    if (from !== undefined) {
      const count = from === 'earliest' ? this.ring.length : Math.min(from.last, this.ring.length)
      const start = this.lastEventId - count
      return { start, replay: framesAfter(start) }
    }
    if (lastEventId === undefined) return { start: this.lastEventId }
    const foreign = epoch !== undefined && epoch !== EPOCH
    if (foreign || lastEventId > this.lastEventId) {
      const detail = foreign ? { detail: 'epoch_mismatch' } : {}
      const announcement = resync('epoch_reset', lastEventId, earliest, detail)
      return { start: lastEventId, replay: [announcement, ...framesAfter(0)] }
    }
    const gone = lastEventId + 1 < earliest ? [resync('ring_evicted', lastEventId, earliest)] : []
    return { start: lastEventId, replay: [...gone, ...framesAfter(lastEventId)] }
  }

  remove(subscriber: NaiveSubscription): void {
    this.subscribers = this.subscribers.filter((other) => other !== subscriber)
  }

  end(): void {
    this.ended = true
    for (const subscriber of this.subscribers) subscriber.close(true)
    this.subscribers = []
  }

  close(drain: boolean, all: NaiveSubscription[]): void {
    if (this.closed) return
    this.end()
    this.closed = true
    this.ring = []
    if (!drain) for (const subscription of all) subscription.close(false)
  }
}
