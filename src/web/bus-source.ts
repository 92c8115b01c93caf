/**
 * A bus subscription as a source of chunks: frames leave in whole, up to 64 KiB at a time, and what is not taken stays
 * counted in the subscription's backlog.
 *
 * A subscriber whose replay is outrun by live traffic is not sent away: the subscription that was evicted is read to its
 * end, and a new one goes on from its position. So every reconnect makes progress, however fast the bus is.
 */

import type { BusEvent, BusLike, Frame, ReplayComplete, SubscribeOptions, Subscription } from '../index.ts'
import type { EndReason, Source } from '../internal/pump.ts'
import type { Encoded, Encoder } from './encoder.ts'

const CHUNK_BYTES = 65_536

/** A source that knows what it gave. */
export interface CountingSource extends Source {
  /** Events and control frames taken. */
  frames: number
  /** The last id taken, in an event or a cursor block. */
  lastId: number | undefined
}

export class BusSource implements CountingSource {
  frames = 0
  lastId: number | undefined
  ended: EndReason | undefined
  readonly #bus: BusLike
  readonly #encoder: Encoder
  readonly #options: SubscribeOptions
  readonly #heartbeat: string
  #subscription: Subscription
  /** The head when the subscription began: what a replay without ids leaves the client at. */
  #head: number
  /** The cursor that the client has once it read what was taken. */
  #clientAt: number
  #handed: Frame | undefined
  #left: Encoded | undefined
  #replaying: boolean
  #continued = false
  #replayedCount = 0
  #lastReplayedEventId = 0
  #idsInReplay = false

  /** `options`: those of further subscriptions that go on where this one is evicted. */
  constructor(
    bus: BusLike,
    subscription: Subscription,
    encoder: Encoder,
    options: SubscribeOptions,
    replaying: boolean,
    heartbeat: string,
    head: number,
  ) {
    this.#bus = bus
    this.#encoder = encoder
    this.#options = options
    this.#heartbeat = heartbeat
    this.#subscription = subscription
    this.#head = head
    this.#clientAt = subscription.lastDeliveredId
    this.#replaying = replaying
  }

  /** The cursor block that a client without a cursor gets first, so that its first reconnect resumes. */
  prime(): string {
    this.lastId = this.#clientAt
    return this.#encoder.cursorText(this.#clientAt, this.#subscription.epoch)
  }

  take(): Uint8Array | undefined {
    try {
      return this.#take()
    } catch {
      // The backend failed: what was taken before is written, and the client comes back with its cursor.
      this.ended = 'error'
      return undefined
    }
  }

  #take(): Uint8Array | undefined {
    const chunk: Uint8Array[] = []
    let size = 0
    for (let next = this.#left ?? this.#next(); next !== undefined; next = this.#next()) {
      this.#left = undefined
      if (size > 0 && size + next.bytes.length > CHUNK_BYTES) {
        this.#left = next
        break
      }
      chunk.push(next.bytes)
      size += next.bytes.length
      this.frames++
      if (next.cursor !== undefined) this.lastId = this.#clientAt = next.cursor
    }
    return chunk.length > 1 ? this.#encoder.bytes.join(chunk, size) : chunk[0]
  }

  wait(wake: () => void): void {
    this.#subscription.next().then(
      ({ value }) => {
        this.#handed = value
        wake()
      },
      () => {
        this.ended = 'error'
        wake()
      },
    )
  }

  beat(): Uint8Array | undefined {
    const { position, epoch } = this.#subscription
    const ahead = position > this.#clientAt
    if (ahead) this.lastId = this.#clientAt = position
    const text = this.#heartbeat + (ahead ? this.#encoder.cursorText(position, epoch) : '')
    return text === '' ? undefined : this.#encoder.encode(text).bytes
  }

  close(): void {
    void this.#subscription.return()
    this.#handed = this.#left = undefined
  }

  /** The next frame that has something to write. */
  #next(): Encoded | undefined {
    for (;;) {
      const frame = this.#handed ?? this.#subscription.tryNext()
      this.#handed = undefined
      if (frame === undefined) break
      const encoded = frame.id === undefined ? this.#control(frame) : this.#event(frame as BusEvent)
      if (encoded !== undefined) return encoded
    }
    if (this.#subscription.closed) this.ended ??= this.#endReason()
    return undefined
  }

  #endReason(): EndReason {
    if (this.#subscription.evicted) return 'evicted'
    return this.#bus.closed ? 'closed' : 'ended'
  }

  #event(event: BusEvent): Encoded | undefined {
    const encoded = this.#encoder.event(event, this.#subscription)
    if (encoded !== undefined && this.#replaying) {
      this.#replayedCount++
      this.#lastReplayedEventId = event.id
      this.#idsInReplay ||= encoded.cursor !== undefined
    }
    return encoded
  }

  #control(frame: Frame): Encoded | undefined {
    const outrun = this.#replaying && this.#subscription.evicted
    if (frame.type === 'client_evicted' && outrun && this.#goOn()) return undefined
    if (outrun && (frame.type === 'replay_complete' || frame.type === 'slow_client_warning')) return undefined
    if (frame.type === 'replay_complete') return this.#replayComplete(frame as ReplayComplete)
    const text = this.#controlText(frame)
    return text === '' ? undefined : this.#encoder.encode(text)
  }

  /** Closes the replay, that of the subscriptions before included; a client that got no id with it gets a cursor. */
  #replayComplete(frame: ReplayComplete): Encoded | undefined {
    this.#replaying = false
    const replayedCount = this.#replayedCount
    const lastReplayedEventId = this.#lastReplayedEventId
    const data = replayedCount > 0 ? { replayedCount, lastReplayedEventId } : { replayedCount }
    const whole = this.#continued ? { ...frame, data } : frame
    let text = this.#controlText(whole)
    if (this.#idsInReplay) return text === '' ? undefined : this.#encoder.encode(text)
    text += this.#encoder.cursorText(this.#head, this.#subscription.epoch)
    return this.#encoder.encode(text, this.#head)
  }

  #controlText(frame: Frame): string {
    const subscription = this.#subscription
    return this.#encoder.controlText(frame, subscription.epoch, (diagnostic) =>
      subscription.report(diagnostic),
    )
  }

  /** A new subscription in place of the one that was evicted, where nothing between them is lost. */
  #goOn(): boolean {
    const { position, epoch } = this.#subscription
    const head = this.#bus.lastEventId
    if (this.#bus.closed || position + 1 < this.#bus.earliestAvailableId) return false
    try {
      this.#subscription = this.#bus.subscribe({ ...this.#options, lastEventId: position, epoch })
    } catch {
      // The limit: somebody else has taken the place.
      return false
    }
    this.#head = head
    this.#continued = true
    return true
  }
}
