/** The options of a bus and of its subscribers: checked at the door, every default filled in. */

import { check, checkSignal, option, wrongType } from '../internal/check.ts'
import type { SubscribeOptions } from './bus-like.ts'
import type { Diagnostic } from './diagnostics.ts'
import type { Filter } from './filter-index.ts'

export interface EventBusOptions {
  /** Events retained for replay, default 8000; more than 1,000,000 is lowered to that; 0 keeps none. */
  ringSize?: number | undefined
  /** UTF-8 bytes of their JSON at the most, default none. A larger event is delivered live and empties the ring. */
  maxRingBytes?: number | undefined
  /** Subscribers at a time, default 4096. */
  maxSubscribers?: number | undefined
  /** Live events that a subscriber has not read, at the most; default 256. */
  maxQueued?: number | undefined
  /** Their bytes at the most, default none. One larger event still fits an empty queue. */
  maxQueuedBytes?: number | undefined
  /** `[A-Za-z0-9_-]{1,64}`, default fresh and random. Give an old one only to a bus that continues its ids. */
  epoch?: string | undefined
  /** The first id is the one behind this; default 0. */
  startAfterId?: number | undefined
  /** Told what happened, behind the fan-out that caused it. What it throws is swallowed. */
  onDiagnostic?: ((diagnostic: Diagnostic) => void) | undefined
}

/** What a subscriber has unless it asks for its own. */
export interface SubscriberDefaults {
  readonly epoch: string
  readonly maxQueued: number
  readonly maxQueuedBytes: number
  /** Every event is measured; only then can a subscriber cap bytes. */
  readonly measured: boolean
}

export type CheckedBusOptions = ReturnType<typeof checkBusOptions>
export type CheckedSubscribeOptions = ReturnType<typeof checkSubscribeOptions>

const MAX_RING_SIZE = 1_000_000
const EPOCH = /^[\w-]{1,64}$/

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkBusOptions(options: EventBusOptions) {
  const epoch = option(options, 'epoch', 'string') ?? freshEpoch()
  if (!EPOCH.test(epoch)) throw new RangeError(`epoch must match ${EPOCH}`)
  const maxRingBytes = option(options, 'maxRingBytes', 'number', Infinity)
  const maxQueuedBytes = option(options, 'maxQueuedBytes', 'number', Infinity)
  return {
    epoch,
    ringSize: Math.min(option(options, 'ringSize', 'number', 8000, 0), MAX_RING_SIZE),
    maxRingBytes,
    maxSubscribers: option(options, 'maxSubscribers', 'number', 4096),
    maxQueued: option(options, 'maxQueued', 'number', 256),
    maxQueuedBytes,
    measured: Math.min(maxRingBytes, maxQueuedBytes) < Infinity,
    startAfterId: option(options, 'startAfterId', 'number', 0, 0, Number.MAX_SAFE_INTEGER),
    onDiagnostic: option(options, 'onDiagnostic', 'function'),
  }
}

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkSubscribeOptions(options: SubscribeOptions, bus: SubscriberDefaults) {
  const lastEventId = option(options, 'lastEventId', 'number', undefined, 0, Number.MAX_SAFE_INTEGER)
  const { from, signal } = options
  checkSignal(signal)
  const maxBytes = option(options, 'maxQueuedBytes', 'number', bus.maxQueuedBytes)
  if (maxBytes < Infinity && !bus.measured) {
    throw new RangeError('maxQueuedBytes needs a bus with maxRingBytes or maxQueuedBytes')
  }
  return {
    lastEventId,
    /** How many of the retained events `from` asks for. */
    last: from === undefined ? undefined : countOf(from, lastEventId),
    /** An epoch says something of a cursor only. */
    epoch: lastEventId === undefined ? bus.epoch : option(options, 'epoch', 'string', bus.epoch),
    signal,
    maxSize: option(options, 'maxQueued', 'number', bus.maxQueued),
    maxBytes,
    filter: option(options, 'filter', 'function') as Filter | undefined,
    warnings: option(options, 'warnings', 'boolean', true),
  }
}

function countOf(from: NonNullable<SubscribeOptions['from']>, lastEventId: number | undefined): number {
  if (lastEventId !== undefined) throw wrongType('from', 'left out beside lastEventId', from)
  if (from === 'earliest') return Infinity
  if (typeof from === 'string') throw new RangeError("from must be 'earliest' or { last }")
  return check('from.last', check('from', from, 'string or object').last, 'number', 0)
}

/** 64 random bits. `getRandomValues`, since `randomUUID` is missing on plain-http pages. */
export function freshEpoch(): string {
  return (crypto.getRandomValues(new BigUint64Array(1))[0] as bigint).toString(36)
}
