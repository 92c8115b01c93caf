/** A bus at the other end of a `MessagePort`: worker threads, workers, iframes. */

import type { BusEvent, BusLike } from '../index.ts'
import { check, checkBus, wrongType } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { type EventPattern, filterOf, wayOf } from './match-events.ts'
import { Tree, type Way } from './tree.ts'

/** What the other side posts. */
export interface PortRequest extends EventPattern {
  readonly op: 'subscribe' | 'unsubscribe'
  /** The other side's name for the subscription; subscribing under one again replaces its patterns. */
  readonly id: string | number
}

/** What the other side gets: once for each of its subscriptions that match. */
export interface PortMessage {
  readonly subscription: string | number
  readonly id: number
  readonly system: string | undefined
  readonly type: string
  readonly path: string | undefined
  readonly data?: unknown
}

type Listener = (message: never) => void

/** A `MessagePort` of a browser or of Node, or what has its shape. */
export interface PortLike {
  postMessage(message: unknown): void
  addEventListener?(type: string, listener: Listener): void
  removeEventListener?(type: string, listener: Listener): void
  on?(type: string, listener: Listener): unknown
  off?(type: string, listener: Listener): unknown
  start?(): void
}

export interface PortBridge {
  /** Frees everything on this side; the port stays open. */
  close(): void
  [Symbol.dispose](): void
}

/**
 * Posts the events that the other side subscribes to. One subscriber of the bus however many subscriptions it has, which
 * posts inside `publish` and queues nothing: never evicted, live only. It ends with the port's `close` event, with
 * `close()`, or with the bus.
 *
 * What a port is posted waits in that port until its other side reads, and nothing on this side can see or bound that:
 * close the port of a side that is stuck. A browser without the port's `close` event needs `close()` to be called.
 *
 * Data that cannot be cloned is not posted, and reported as `event_not_serialisable`; a request with a bad pattern is
 * reported as `callback_error` and changes nothing. Throws `TypeError` for a wrong port, and what the bus throws at
 * `maxSubscribers`.
 */
export function bridgePort(bus: BusLike, port: PortLike): PortBridge {
  checkBus(bus)
  if (typeof check('port', port, 'object').postMessage !== 'function')
    throw wrongType('port', 'a MessagePort', port)
  const add = (port.addEventListener ?? port.on)?.bind(port)
  const remove = (port.addEventListener ? port.removeEventListener : port.off)?.bind(port)
  if (!add || !remove) throw wrongType('port', 'a MessagePort', port)

  const ways = new Map<unknown, Way>()
  const tree = new Tree<unknown>()

  const unsubscribe = (id: unknown) => {
    const way = ways.get(id)
    if (way) tree.delete(way, id)
    ways.delete(id)
  }

  const obey = ({ op, id, system, type, path }: PortRequest) => {
    if (op !== 'subscribe' && op !== 'unsubscribe') return
    const way = op === 'subscribe' && wayOf({ system, type, path })
    unsubscribe(id)
    if (!way) return
    ways.set(id, way)
    tree.add(way, id)
  }

  const post = (event: BusEvent): false => {
    const { id, system, type, path, data } = event
    for (const found of tree.find([system, type, path])) {
      for (const subscription of found) {
        try {
          port.postMessage({ subscription, id, system, type, path, ...(data !== undefined && { data }) })
        } catch {
          bridge.report({ type: 'event_not_serialisable', id, eventType: type })
        }
      }
    }
    return false
  }

  const hear = (message: unknown) => {
    try {
      obey((port.addEventListener ? (message as MessageEvent).data : message) ?? {})
    } catch (error) {
      bridge.report({ type: 'callback_error', error })
    }
  }

  const bridge = bus.subscribe({ filter: filterOf({}, { accepts: post }), warnings: false })
  const close = () => {
    remove('message', hear)
    remove('close', close)
    void bridge.return()
  }
  const watch = () => bridge.receive(({ done }) => (done ? close() : watch()), close)
  add('message', hear)
  add('close', close)
  port.start?.()
  watch()
  return { close, [dispose]: close }
}
