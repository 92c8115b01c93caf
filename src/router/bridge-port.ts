/** A bus at the other end of a `MessagePort`: worker threads, workers, iframes. */

import type { BusEvent, BusLike } from '../index.ts'
import { check, checkBus, wrongType } from '../internal/check.ts'
import { dispose } from '../internal/dispose.ts'
import { type EventPattern, wayOf } from './match-events.ts'
import type { Segment } from './pattern.ts'
import { onEnd, routing } from './routed.ts'
import { Tree } from './tree.ts'

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

/** A `MessagePort` of a browser or of Node, or what has its shape. */
export interface PortLike {
  postMessage(message: unknown): void
  addEventListener?(type: string, listener: never): void
  removeEventListener?(type: string, listener: never): void
  on?(type: string, listener: never): unknown
  off?(type: string, listener: never): unknown
  start?(): void
}

export interface PortBridge {
  /** Frees everything on this side; the port stays open. */
  close(): void
  [Symbol.dispose](): void
}

/**
 * Posts the events that the other side subscribes to. One subscriber of the bus however many subscriptions it has, which
 * posts inside `publish` and queues nothing: never evicted, live only. It ends with the port's `close` event, that of a
 * worker given as the port (`exit`), with `close()`, or with the bus.
 *
 * What a port is posted waits in that port until its other side reads, and nothing on this side can see or bound that:
 * close the port of a side that is stuck. A browser without the port's `close` event needs `close()` to be called.
 *
 * Data that cannot be cloned is not posted, and reported as `event_not_serialisable`. A request with a bad pattern, or with
 * an `id` that is neither a string nor an integer, is reported as `callback_error` and changes nothing. Throws `TypeError`
 * for a wrong port, and what the bus throws at `maxSubscribers`.
 */
export function bridgePort(bus: BusLike, port: PortLike): PortBridge {
  checkBus(bus)
  const { postMessage, addEventListener, on } = check('port', port, 'object')
  if ([postMessage, addEventListener ?? on].some((one) => typeof one !== 'function')) {
    throw wrongType('port', 'a MessagePort', port)
  }
  const listen = (how: 'add' | 'remove', type: string, listener: (message: unknown) => void) => {
    const name = addEventListener ? (`${how}EventListener` as const) : how === 'add' ? 'on' : 'off'
    port[name]?.(type, listener as never)
  }
  const ways = new Map<unknown, readonly Segment[]>()
  const tree = new Tree<unknown>()

  const hear = (message: unknown) => {
    try {
      const request = (addEventListener ? (message as MessageEvent).data : message) as PortRequest | null
      const { op, id, ...patterns } = request ?? ({} as PortRequest)
      const add = op === 'subscribe'
      if (!add && op !== 'unsubscribe') return
      // A copy of an object is another one each time: nobody could name it again.
      check('id', id, 'string or number', -Infinity)
      // A bad pattern changes nothing.
      const way = add && wayOf(patterns)
      const old = ways.get(id)
      if (old) tree.delete(old, id)
      ways.delete(id)
      if (way) {
        ways.set(id, way)
        tree.add(way, id)
      }
    } catch (error) {
      subscription.report({ type: 'callback_error', error })
    }
  }
  const close = () => {
    for (const [type, listener] of heard) listen('remove', type, listener)
    void subscription.return()
  }
  // A port ends with `close`, a Worker of Node, given in place of one, with `exit`.
  const heard = [
    ['message', hear],
    ['close', close],
    ['exit', close],
  ] as const
  const post = (event: BusEvent) => {
    const { id, system, type, path, data } = event
    try {
      for (const subscription of tree.find(event)) {
        port.postMessage({ subscription, id, system, type, path, ...(data !== undefined && { data }) })
      }
    } catch {
      subscription.report({ type: 'event_not_serialisable', id, eventType: type })
    }
  }
  const subscription = bus.subscribe({ filter: routing(wayOf({}), post), warnings: false })
  for (const [type, listener] of heard) listen('add', type, listener)
  port.start?.()
  onEnd(subscription, close)
  return { close, [dispose]: close }
}
