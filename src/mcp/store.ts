/**
 * The event store: messages of an MCP transport on a bus, each an event that names its namespace and its stream.
 *
 * The bus's own rule says what can be replayed: the event behind the cursor is there, or it is not. So an id that cannot
 * be continued is unknown, and no replay begins behind a gap.
 */

import type { BusEvent, Frame, StateResyncRequired } from '../index.ts'
import { check } from '../internal/check.ts'
import { EventRejectedError, replayFailure } from './errors.ts'
import { formatEventId, type Place, parseEventId } from './event-id.ts'
import { type Head, type MessageBus, Reader } from './reader.ts'

/**
 * What `@modelcontextprotocol/sdk` 1.x and `@modelcontextprotocol/server` 2.x call an `EventStore`. Messages are handed
 * back as JSON carries them, in objects of their own.
 */
export interface EventStore {
  /**
   * Keeps a message and returns its id. Messages of one store keep the order of the calls.
   *
   * Rejects with `EventRejectedError` (`code: 'event_rejected'`) where JSON cannot carry the message or the bus has ended:
   * then nothing is kept. Rejects with what a bus's `publish` rejects with, and with a `TypeError` for a wrong type.
   */
  storeEvent(streamId: string, message: object): Promise<string>
  /** The stream of a message whose followers are all there; undefined for every other id. */
  getStreamIdForEventId(eventId: string): Promise<string | undefined>
  /**
   * Sends every later message of that stream, in order, also those that are stored meanwhile, and returns the stream's
   * name; the SDK's empty priming messages are left out. `''`, and nothing is sent, for an id that
   * `getStreamIdForEventId` does not know.
   *
   * Rejects with what `send` rejects with; with `code: 'replay_gap'` where messages left the ring during the replay, or
   * since `getStreamIdForEventId` found the id, and with `code: 'backend_unavailable'` where the bus gives nothing for
   * 30,000 ms.
   */
  replayEventsAfter(lastEventId: string, replay: Replay): Promise<string>
}

/** Written as a method: the SDKs have types of their own for messages. */
export interface Replay {
  send(eventId: string, message: object): Promise<void>
}

const TYPE = 'mcp_message'

/** Ids that were found and not asked for again, at the most: the SDK asks for the replay at once. */
const MAX_FOUND = 64

export class BusEventStore implements EventStore {
  readonly #bus: MessageBus
  readonly #namespace: string
  #head: Head = { epoch: '', number: 0 }
  readonly #found = new Set<string>()

  constructor(bus: MessageBus, namespace: string) {
    this.#bus = bus
    this.#namespace = namespace
  }

  async storeEvent(streamId: string, message: object): Promise<string> {
    const stream = check('streamId', streamId, 'string')
    const data = copyOf(check('message', message, 'object'))
    if (data === undefined) throw new EventRejectedError()
    const namespace = this.#namespace
    // The epoch from before: where the bus is recreated meanwhile, the id is an old one and unknown, not a wrong one.
    const { epoch } = this.#bus
    const event = await this.#bus.publish({ type: TYPE, data, namespace, stream })
    if (!event) throw new EventRejectedError()
    const { id: number } = event
    if (epoch !== this.#head.epoch || number > this.#head.number) this.#head = { epoch, number }
    return formatEventId({ namespace, stream, epoch, number })
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    const found = await this.#find(eventId)
    this.#found.delete(eventId)
    if (!found) return undefined
    found.reader.close()
    this.#found.add(eventId)
    if (this.#found.size > MAX_FOUND) this.#found.delete(this.#found.values().next().value as string)
    return found.stream
  }

  async replayEventsAfter(lastEventId: string, replay: Replay): Promise<string> {
    check('send', check('replay', replay, 'object').send, 'function')
    const found = await this.#find(lastEventId)
    // To `''` the SDK would attach a stream on which nothing ever comes, since it was told that the id is good.
    const promised = this.#found.delete(lastEventId)
    if (!found) {
      if (promised) throw replayGap()
      return ''
    }
    const { reader, ...place } = found
    try {
      for (;;) {
        let frame = reader.poll()
        if (!frame) {
          // Looked at last, and nothing is awaited behind it: a message that is stored from here on finds the SDK's stream in
          // its place.
          if (reader.reached(this.#head)) return place.stream
          frame = await reader.next()
          if (!frame) throw replayGap()
        }
        if (frame.type === 'state_resync_required') throw replayGap()
        if (this.#isOf(place.stream, frame) && !isPriming(frame.data)) {
          await replay.send(formatEventId({ ...place, number: frame.id }), copyOf(frame.data) as object)
        }
      }
    } finally {
      reader.close()
    }
  }

  /** Where a message stands, and a reader behind it; undefined where it is unknown, or not to be continued. */
  async #find(eventId: string): Promise<(Place & { readonly reader: Reader }) | undefined> {
    const place = parseEventId(eventId)
    if (place?.namespace !== this.#namespace) return undefined
    const { stream, epoch, number } = place
    // A message that another process stored a moment ago is nobody's to send but this replay's.
    if (this.#bus.catchUp) await this.#bus.catchUp()
    const reader = new Reader(this.#bus, epoch, number - 1)
    let first = await reader.next()
    // A bus on a backend may be behind what this store has put there.
    while (first?.type === 'replay_complete' && !reader.reached(this.#head)) first = await reader.next()
    if (
      first !== undefined &&
      (this.#isOf(stream, first) ? first.id === number : hasJustLeft(number, first))
    ) {
      return { ...place, reader }
    }
    reader.close()
    return undefined
  }

  #isOf(stream: string, frame: Frame): frame is BusEvent {
    return frame.type === TYPE && frame.namespace === this.#namespace && frame.stream === stream
  }
}

/** The message is the last one that left: nothing behind it is missing. */
function hasJustLeft(number: number, frame: Frame): boolean {
  if (frame.type !== 'state_resync_required') return false
  const { reason, earliestAvailableId } = frame.data as StateResyncRequired['data']
  return reason === 'ring_evicted' && earliestAvailableId === number + 1
}

/** What the SDK stores so that a client has an id before there is a message. */
function isPriming(message: unknown): boolean {
  return Object.keys(message as object).length === 0
}

/** As JSON carries it, and nobody else's to change; undefined where JSON carries no object. */
function copyOf(message: unknown): object | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(message))
    return typeof copy === 'object' && copy !== null ? copy : undefined
  } catch {
    return undefined
  }
}

function replayGap(): Error {
  return replayFailure('replay_gap', 'messages left the ring before they were replayed')
}
