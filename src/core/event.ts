/**
 * What travels on a bus: events, which have an id and move a cursor, and control frames, which have neither.
 */

/** The version of the envelope, in `v` of every event and control frame. */
export const EVENT_SCHEMA_VERSION = 1

/**
 * A published event, frozen. `id` runs 1, 2, 3 … per bus; none is reused and none is skipped.
 * `data` is the publisher's own value, not a copy: freeze or clone it where others must not change it.
 */
export interface BusEvent<Type extends string = string, Data = unknown> {
  readonly id: number
  readonly v: 1
  readonly type: Type
  readonly data: Data
  readonly originatorClientId?: string
  /** Addressing for `resumable-bus/router`. */
  readonly system?: string
  /** Addressing for `resumable-bus/router`. */
  readonly path?: string
  readonly _meta?: Record<string, unknown>
  /** Any further key that the publisher gave; keys whose value was undefined are left out. */
  readonly [extra: string]: unknown
}

/** The envelope of an event without the `id` key: it uses no id and never moves a cursor. */
interface ControlEnvelope<Type extends string, Data> {
  readonly id?: undefined
  readonly v: 1
  readonly type: Type
  readonly data: Data
}

/** Backlog of one subscriber, in events and, where bytes are capped, in bytes. */
export interface BacklogFigures {
  readonly queueSize: number
  readonly maxQueued: number
  readonly queuedBytes?: number
  readonly maxQueuedBytes?: number
}

/** The backlog reached 75 % of a cap. The stream goes on. */
export type SlowClientWarning = ControlEnvelope<
  'slow_client_warning',
  BacklogFigures & { readonly lastEventId: number }
>

/**
 * The next event did not fit. Last frame of its stream; a subscription that resumes from `droppedAfter` has no gap.
 * The figures do not count the refused event.
 */
export type ClientEvicted = ControlEnvelope<
  'client_evicted',
  BacklogFigures & {
    readonly reason: 'queue_overflow' | 'queue_bytes_overflow'
    readonly droppedAfter: number
  }
>

/** Why events between a cursor and what is left are missing. */
export type ResyncReason =
  | 'ring_evicted'
  | 'epoch_reset'
  | 'invalid_cursor'
  | 'not_serialisable'
  | 'gate_overflow'

/** Events between the cursor and what is left are gone: reload the state. The stream goes on. */
export type StateResyncRequired = ControlEnvelope<
  'state_resync_required',
  {
    readonly reason: ResyncReason
    readonly lastDeliveredId?: number
    readonly earliestAvailableId: number
    readonly epoch: string
    /** `'epoch_mismatch'` where the cursor named another epoch. */
    readonly detail?: string
  }
>

/** The end of every replay, also of an empty one. Counts what passed the filter. */
export type ReplayComplete = ControlEnvelope<
  'replay_complete',
  { readonly replayedCount: number; readonly lastReplayedEventId?: number }
>

/** An adapter must say why it ends. Last frame of its stream. */
export type StreamError = ControlEnvelope<'stream_error', { readonly error: string; readonly code: string }>

export type ControlFrame =
  | SlowClientWarning
  | ClientEvicted
  | StateResyncRequired
  | ReplayComplete
  | StreamError

/** Types that no publisher may use: those of the control frames, and the name of the cursor block on the wire. */
export type ReservedType = ControlFrame['type'] | 'cursor'

/** Constraint for an event map given as an interface or as a type: reserved names as keys do not compile. */
export type EventMap<Events> = {
  [Type in keyof Events]: Type extends ReservedType ? never : unknown
}

/** The map of a bus that was given none: any type, any data. */
// biome-ignore lint/suspicious/noExplicitAny: `unknown` here would force a cast on each reader of an untyped bus.
export type AnyEvents = Record<string, any>

/** The union of a bus's events. */
export type EventOf<Events = AnyEvents> = string extends keyof Events
  ? BusEvent
  : { [Type in keyof Events & string]: BusEvent<Type, Events[Type]> }[keyof Events & string]

/** What a subscriber reads; narrows by `type`. */
export type Frame<Events = AnyEvents> = EventOf<Events> | ControlFrame

interface PublishEnvelope<Type extends string> {
  type: Type
  originatorClientId?: string | undefined
  system?: string | undefined
  path?: string | undefined
  _meta?: Record<string, unknown> | undefined
  [extra: string]: unknown
}

type PublishData<Data> = undefined extends Data
  ? { data?: Data | undefined }
  : // biome-ignore lint/suspicious/noConfusingVoidType: `void` is how an event map says "no data".
    void extends Data
    ? { data?: Data }
    : { data: Data }

/** What `publish` takes; `data` may be left out where the event map says `void` or `undefined`. */
export type PublishInput<Events = AnyEvents> = string extends keyof Events
  ? PublishEnvelope<string> & { data?: unknown }
  : {
      [Type in keyof Events & string]: PublishEnvelope<Type> & PublishData<Events[Type]>
    }[keyof Events & string]

const CONTROL_TYPES: ReadonlySet<string> = /* @__PURE__ */ new Set<ControlFrame['type']>([
  'slow_client_warning',
  'client_evicted',
  'state_resync_required',
  'replay_complete',
  'stream_error',
])

/** True for a frame that has no id and one of the five control types. */
export function isControlFrame(frame: {
  readonly id?: unknown
  readonly type: string
}): frame is ControlFrame {
  return frame.id === undefined && CONTROL_TYPES.has(frame.type)
}

/** True for the names that `publish` refuses. */
export function isReservedType(type: string): type is ReservedType {
  return type === 'cursor' || CONTROL_TYPES.has(type)
}

/** One control frame, frozen like the events beside it. */
export function controlFrame<Type extends ControlFrame['type']>(
  type: Type,
  data: Extract<ControlFrame, { type: Type }>['data'],
): Extract<ControlFrame, { type: Type }> {
  const frame: unknown = Object.freeze({ v: EVENT_SCHEMA_VERSION, type, data })
  return frame as Extract<ControlFrame, { type: Type }>
}
