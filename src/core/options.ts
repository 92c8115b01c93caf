/** The options of a bus and of its subscribers: checked at the door, every default filled in. */

import { checkInteger, checkOptional, checkType, outOfRange, wrongType } from '../internal/check.ts'
import type { SubscribeOptions } from './bus-like.ts'
import type { Diagnostic } from './diagnostics.ts'
import type { BusEvent } from './event.ts'

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

const EPOCH = /^[\w-]{1,64}$/

/** The caps among the options, each with its default where it is left out. */
function checkCaps<Caps extends Record<string, number>>(options: object, defaults: Caps, min = 1): Caps {
  const caps: Record<string, number> = {}
  for (const [name, cap] of Object.entries(defaults)) {
    const value = (options as Record<string, unknown>)[name]
    caps[name] = value === undefined ? cap : checkInteger(name, value, min)
  }
  return caps as Caps
}

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkBusOptions(options: EventBusOptions) {
  const { epoch = freshEpoch(), startAfterId = 0, onDiagnostic } = checkType('options', options, 'object')
  if (!EPOCH.test(checkType('epoch', epoch, 'string'))) {
    throw outOfRange('epoch', '1 to 64 of A-Z a-z 0-9 _ -', epoch)
  }
  return {
    ...checkCaps(options, { ringSize: 8000 }, 0),
    ...checkCaps(options, {
      maxRingBytes: Infinity,
      maxSubscribers: 4096,
      maxQueued: 256,
      maxQueuedBytes: Infinity,
    }),
    epoch,
    startAfterId: checkInteger('startAfterId', startAfterId, 0, Number.MAX_SAFE_INTEGER),
    onDiagnostic: checkOptional('onDiagnostic', onDiagnostic, 'function'),
  }
}

/** The caps that a subscriber has unless it asks for its own. */
export interface SubscriberCaps {
  readonly maxQueued: number
  readonly maxQueuedBytes: number
}

export type CheckedSubscribeOptions = ReturnType<typeof checkSubscribeOptions>

/**
 * Throws `TypeError` or `RangeError` naming the option. Only on a bus that measures every event can a subscriber cap bytes.
 */
export function checkSubscribeOptions(options: SubscribeOptions, caps: SubscriberCaps, measured: boolean) {
  const { lastEventId, epoch, from, signal, filter, warnings = true } = checkType('options', options, 'object')
  const { maxQueued, maxQueuedBytes } = checkCaps(options, { maxQueued: caps.maxQueued, maxQueuedBytes: caps.maxQueuedBytes })
  if (lastEventId !== undefined) {
    checkInteger('lastEventId', lastEventId, 0, Number.MAX_SAFE_INTEGER)
    if (from !== undefined) throw new TypeError('from must not be given together with lastEventId')
  }
  if (maxQueuedBytes < Infinity && !measured) {
    throw new RangeError('maxQueuedBytes needs a bus with maxRingBytes or maxQueuedBytes')
  }
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw wrongType('signal', 'an AbortSignal', signal)
  }
  return {
    lastEventId,
    epoch: checkOptional('epoch', epoch, 'string'),
    /** How many of the retained events `from` asks for. */
    last: checkFrom(from),
    signal,
    maxQueued,
    maxQueuedBytes,
    filter: checkOptional('filter', filter, 'function') as ((event: BusEvent) => boolean) | undefined,
    warnings: checkType('warnings', warnings, 'boolean'),
  }
}

function checkFrom(from: SubscribeOptions['from']): number | undefined {
  if (from === undefined) return undefined
  if (from === 'earliest') return Infinity
  if (typeof from === 'string') throw outOfRange('from', "'earliest' or { last: n }", from)
  return checkInteger('from.last', checkType('from', from, 'object').last, 0)
}

/** 64 random bits. `getRandomValues`, since `randomUUID` is missing on plain-http pages. */
function freshEpoch(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join('')
}
