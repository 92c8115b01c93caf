/** The options of a session: checked at the door, every default filled in. */

import type { EventIn } from '../core/bus-like.ts'
import type { BusLike, ControlFrame, Frame } from '../index.ts'
import { check, checkBus, option, wrongType } from '../internal/check.ts'
import type { TransportStream } from '../internal/transport.ts'

export interface SessionOptions<Bus extends BusLike = BusLike> {
  /** Not empty. */
  id: string
  /** One per session as a rule: its `lastEventId` is what a reply waits for. */
  bus: Bus
  /** How long a session outlives its transport, default 10,000 ms; 0 = not at all, `Infinity` = until it is closed. */
  graceMs?: number | undefined
  /** A `send` pending for so many milliseconds closes the transport, default 30,000; 0 = never. */
  stallTimeoutMs?: number | undefined
  limits?: SessionLimits | undefined
  /**
   * The message for a frame, or undefined for none. Default: the frame itself. Asked once per frame and transport; what it
   * throws is reported as `callback_error` and counts as undefined.
   */
  translate?: ((frame: EventIn<Bus> | ControlFrame) => unknown) | undefined
  /**
   * The transport is gone, or is closed next; the session stays for `graceMs`. What a hook throws is reported as
   * `callback_error`.
   */
  onDetach?: (() => void) | undefined
  /** A transport came in time. Not called for a session's first one. */
  onReclaim?: (() => void) | undefined
  /** A transport took the place of one that was attached, which is closed next. */
  onReplace?: (() => void) | undefined
  /** Nobody came in time; `onClose` follows. */
  onExpire?: (() => void) | undefined
  /** `cancel` was called; the signal is aborted. */
  onCancel?: ((reason: unknown) => void) | undefined
  /** The session is over, however it ended; once. */
  onClose?: ((reason: string | undefined) => void) | undefined
}

/** What a session keeps of replies that no client has confirmed. `Infinity` = no bound. */
export interface SessionLimits {
  /** Default 256. */
  maxReplies?: number | undefined
  /** UTF-8 bytes of their JSON, default 1 MiB. */
  maxReplyBytes?: number | undefined
}

export interface AttachOptions {
  /** The client's cursor: everything behind it is replayed. Without one the session goes on where it is. */
  lastEventId?: number | undefined
  /** The epoch that `lastEventId` belongs to; ignored without one. */
  epoch?: string | undefined
}

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkSessionOptions(options: SessionOptions) {
  const id = check('id', check('options', options, 'object').id, 'string')
  if (id === '') throw new RangeError('id must not be empty')
  const bus = checkBus(options.bus)
  const limits: SessionLimits = option(options, 'limits', 'object') ?? {}
  const hook = <Name extends keyof SessionOptions>(name: Name) => option(options, name, 'function')
  return {
    id,
    bus,
    graceMs: option(options, 'graceMs', 'number', 10_000, 0),
    stallTimeoutMs: option(options, 'stallTimeoutMs', 'number', 30_000, 0),
    limits: {
      maxReplies: option(limits, 'maxReplies', 'number', 256),
      maxReplyBytes: option(limits, 'maxReplyBytes', 'number', 1_048_576),
    },
    translate: hook('translate') ?? ((frame: Frame): unknown => frame),
    onDetach: hook('onDetach'),
    onReclaim: hook('onReclaim'),
    onReplace: hook('onReplace'),
    onExpire: hook('onExpire'),
    onCancel: hook('onCancel'),
    onClose: hook('onClose'),
  }
}

export type CheckedSessionOptions = ReturnType<typeof checkSessionOptions>

/** Throws `TypeError` naming the transport. */
export function checkTransport(transport: TransportStream): void {
  const { send, close, closed } = check('transport', transport, 'object')
  if ([send, close, closed?.then].some((one) => typeof one !== 'function')) {
    throw wrongType('transport', 'a TransportStream', transport)
  }
}

/** Throws `TypeError` or `RangeError` naming the option. */
export function checkAttachOptions(options: AttachOptions) {
  const lastEventId = option(options, 'lastEventId', 'number', undefined, 0, Number.MAX_SAFE_INTEGER)
  return { lastEventId, epoch: option(options, 'epoch', 'string') }
}
