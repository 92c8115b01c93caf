/** One stream of ACP, a session's or the connection's own: its bus, and the session that survives its transports. */

import { EventBus, type Frame } from '../index.ts'
import { after } from '../internal/timer.ts'
import type { Cursor } from '../last-event-id/index.ts'
import type { SessionRegistry } from '../session/index.ts'
import { errorResponse, isRequest, type Message, ownNotification } from './messages.ts'
import type { BridgeSettings } from './options.ts'
import { openAcpTransport, outgoing } from './transport.ts'

export interface StreamHooks {
  /** Which session it is of, for what its client is told of it; nothing for a connection's own. */
  readonly named: { readonly sessionId?: string }
  onDetach(): void
  onReclaim(): void
  onReplace(): void
  onExpire(): void
  /** It is over; once. */
  onClose(reason: string | undefined): void
  /** Whether a message that was published is still to be sent. */
  isDue(message: Message): boolean
  /** A client is told that what was published before this id is gone. */
  onGap(earliestAvailableId: number): void
}

export interface AcpStream {
  readonly isAttached: boolean
  /** Nothing more will be published. */
  readonly isEnded: boolean
  /** A notification or a request, replayed to whoever comes back for it; its id, or undefined where it cannot be one. */
  publish(message: Message): number | undefined
  /** An answer. False where the stream is over. */
  reply(message: Message): boolean
  /** The answer to a GET. `invalid`: it brought something that is no cursor. */
  attach(request: Request, cursor: Cursor | undefined, invalid: boolean): Response
  /** Resolves once a client that reads has caught up; undefined where there is nothing to wait for. */
  room(): Promise<void> | undefined
  /** Lets the client have what is left, and ends. */
  end(): void
  /** Ends at once. */
  close(reason: string): void
}

/** The one type of event: what matters is inside. */
const EVENT_TYPE = 'acp'

/**
 * A message as the data of its event. Where its JSON is made as it is published, the event keeps that, and the message itself
 * is let go: it takes twice the room of its JSON, and the ring's bound counts JSON.
 */
class Said {
  message: Message | undefined

  constructor(message: Message) {
    this.message = message
  }

  toJSON(): Message | undefined {
    return this.message
  }
}

// A client that reads may be so many messages behind before the agent waits for it. A half of what its subscription may
// queue, so that it is never evicted for a burst.
const MAX_BEHIND = 128

// How long the agent waits for a client that does not move. From then on the ring alone is its buffer, until it moves.
const PATIENCE_MS = 25

export function openStream(
  registry: SessionRegistry,
  id: string,
  graceMs: number,
  { ringSize, heartbeatMs, limits, connectionGraceMs }: BridgeSettings,
  hooks: StreamHooks,
): AcpStream {
  const bus = new EventBus({ ringSize, maxRingBytes: limits.maxRingBytes })
  const maxBehind = Math.max(1, Math.min(MAX_BEHIND, ringSize >> 1))
  /** The last message that was published, and the last one that was handed to a transport. */
  let published = 0
  let sent = 0
  let stuck = false
  let moved: (() => void) | undefined

  const translate = (frame: Frame): unknown => {
    if (frame.id === undefined) {
      if (frame.type === 'state_resync_required') hooks.onGap(frame.data.earliestAvailableId)
      return outgoing(frame, hooks.named)
    }
    sent = frame.id
    stuck = false
    moved?.()
    const { message } = frame.data as Said
    return message === undefined || hooks.isDue(message) ? frame : undefined
  }

  const session = registry.create({
    id,
    bus,
    graceMs,
    limits: { maxReplies: limits.maxReplies, maxReplyBytes: limits.maxReplyBytes },
    translate,
    onDetach() {
      moved?.()
      hooks.onDetach()
    },
    onReclaim: hooks.onReclaim,
    onReplace: hooks.onReplace,
    onExpire: hooks.onExpire,
    onClose(reason?: unknown) {
      stopWaiting()
      moved?.()
      // Its ring is nobody's any more.
      bus.close({ drain: false })
      hooks.onClose(reason === undefined ? undefined : `${reason}`)
    },
  })

  // A session waits for those who come back. Whoever is to come first needs time, too, where no one may come back.
  const stopWaiting = after(graceMs || connectionGraceMs, () => {
    hooks.onExpire()
    session.close('expired')
  })

  const behind = () => published - sent

  /** Resolves once the client has come up by half, is gone, or does not move. */
  const caughtUp = () =>
    new Promise<void>((resolve) => {
      let stopTimer = () => {}
      const look = (before: number) => {
        stopTimer = after(PATIENCE_MS, () => {
          stuck = sent === before
          if (stuck) done()
          else look(sent)
        })
      }
      const done = () => {
        stopTimer()
        moved = undefined
        resolve()
      }
      moved = () => {
        if (session.state !== 'attached' || behind() <= maxBehind >> 1) done()
      }
      look(sent)
    })

  return {
    get isAttached() {
      return session.state === 'attached'
    },
    get isEnded() {
      return bus.ended || bus.closed
    },
    publish(message) {
      const said = new Said(message)
      const event = bus.publish({ type: EVENT_TYPE, data: said })
      published = event?.id ?? published
      // Of a question it matters later on whether it is the one that waits.
      if (limits.maxRingBytes < Infinity && !isRequest(message)) said.message = undefined
      return event?.id
    },
    reply(message) {
      try {
        return session.reply(message)
      } catch {
        return session.reply(errorResponse(message.id, 'no stream can carry it'))
      }
    },
    attach(request, cursor, invalid) {
      stopWaiting()
      const { transport, response } = openAcpTransport(request, bus.epoch, heartbeatMs)
      if (invalid) {
        const { epoch, earliestAvailableId } = bus
        const data = { ...hooks.named, reason: 'invalid_cursor', earliestAvailableId, epoch }
        void transport.send(ownNotification('state_resync_required', data))
      }
      session.attach(transport, cursor && { lastEventId: cursor.id, epoch: cursor.epoch })
      return response
    },
    room: () => (!stuck && behind() > maxBehind && session.state === 'attached' ? caughtUp() : undefined),
    end: () => bus.end(),
    close: (reason) => session.close(reason),
  }
}
