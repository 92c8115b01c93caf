/** The options of an event store: checked at the door, every default filled in. */

import { type BusLike, EventBus } from '../index.ts'
import { check, option, wrongType } from '../internal/check.ts'
import { AgingBus } from './aging-bus.ts'
import { BusEventStore, type EventStore } from './store.ts'

/** A store of its own, in memory. Both caps bound everything that it keeps. */
export interface MemoryStoreOptions {
  /** Messages kept for replay, default 8000; more than 1,000,000 is lowered to that; 0 keeps none. */
  ringSize?: number | undefined
  /** UTF-8 bytes of their JSON with its envelope, default 16 MiB; `Infinity` = no bound. A larger message empties the store. */
  maxBytes?: number | undefined
  /**
   * Milliseconds after which a message is replayed no more, default never (0 or `Infinity`). Its memory is free at the
   * latest after twice as long.
   */
  ttlMs?: number | undefined
  /** Part of every id; not empty. Default: random per store. */
  namespace?: string | undefined
  bus?: undefined
}

/** A store on a bus, which several of them may share. What is kept, and for how long, is the bus's own matter. */
export interface BusStoreOptions {
  bus: BusLike
  /** Tells this store's messages from those of others on the bus: the session's id, as a rule. Not empty. */
  namespace: string
  ringSize?: undefined
  maxBytes?: undefined
  ttlMs?: undefined
}

/** Only what a store in memory has a use for. */
const OF_MEMORY = ['ringSize', 'maxBytes', 'ttlMs'] as const

/**
 * An `EventStore` for `@modelcontextprotocol/sdk` 1.x and `@modelcontextprotocol/server` 2.x: one per transport, or one
 * `namespace` for each on a bus that they share.
 *
 * Throws `TypeError` or `RangeError` naming the option: also for `ringSize`, `maxBytes` and `ttlMs` beside `bus`, and for
 * `bus` without `namespace`.
 */
export function createEventStore(options: MemoryStoreOptions | BusStoreOptions = {}): EventStore {
  const namespace = option(options, 'namespace', 'string')
  if (namespace === '') throw new RangeError('namespace must not be empty')
  if (options.bus === undefined) {
    const bus = memoryBus(options)
    // As random as a namespace has to be, and there already.
    return new BusEventStore(bus, namespace ?? bus.epoch)
  }
  const bus = check('bus', options.bus, 'object')
  if (typeof bus.subscribe !== 'function' || typeof bus.publish !== 'function') {
    throw wrongType('bus', 'a bus', bus)
  }
  for (const name of OF_MEMORY) {
    if (options[name] !== undefined) throw wrongType(name, 'left out beside bus', options[name])
  }
  return new BusEventStore(bus, check('namespace', options.namespace, 'string'))
}

function memoryBus(options: MemoryStoreOptions): EventBus | AgingBus {
  const settings = {
    // Each of them is a replay under way, which nobody but the transport begins.
    maxSubscribers: Infinity,
    ringSize: option(options, 'ringSize', 'number', 8000, 0),
    maxRingBytes: option(options, 'maxBytes', 'number', 16_777_216),
  }
  const ttlMs = option(options, 'ttlMs', 'number', 0, 0)
  return ttlMs > 0 && ttlMs < Infinity ? new AgingBus(settings, ttlMs) : new EventBus(settings)
}
