import type { ClientEvicted, SlowClientWarning, StateResyncRequired } from './event.ts'

/** Why `publish` refused an input. */
export type RejectionReason =
  /** No object, or a getter threw. */
  | 'invalid_input'
  /** Not a non-empty string, or with CR, LF or NUL. */
  | 'invalid_type'
  | 'reserved_type'
  /** With a byte cap: JSON cannot carry it. */
  | 'not_serialisable'
  /** The next id would be past `Number.MAX_SAFE_INTEGER`. */
  | 'ids_exhausted'

/** What happened on a bus, for logs and metrics. Handed to `onDiagnostic` after the fan-out that caused it. */
export type Diagnostic =
  | { readonly type: 'slow_client_warning'; readonly data: SlowClientWarning['data'] }
  | { readonly type: 'client_evicted'; readonly data: ClientEvicted['data'] }
  | { readonly type: 'state_resync_required'; readonly data: StateResyncRequired['data'] }
  | { readonly type: 'event_rejected'; readonly reason: RejectionReason; readonly eventType?: string }
  | { readonly type: 'subscriber_rejected'; readonly limit: number }
  /** Clipped and without control characters. */
  | { readonly type: 'invalid_last_event_id'; readonly value: string }
  | { readonly type: 'event_not_serialisable'; readonly id: number; readonly eventType: string }
  /** A filter, or a formatter given to an adapter, threw. */
  | { readonly type: 'callback_error'; readonly error: unknown }

export interface SubscriberStats {
  readonly queued: number
  readonly queuedBytes: number
  readonly maxQueued: number
  readonly lastDeliveredId: number
  readonly replaying: boolean
}

/** A snapshot; counters run from the bus's construction. */
export interface BusStats {
  readonly published: number
  /** Inputs that `publish` refused on an open bus. */
  readonly rejected: number
  readonly evicted: number
  readonly warned: number
  readonly resyncs: number
  readonly lastEventId: number
  readonly earliestAvailableId: number
  readonly ringEvents: number
  /** 0 where no byte cap is set. */
  readonly ringBytes: number
  readonly subscribers: readonly SubscriberStats[]
}
