export { EventBus } from './core/bus.ts'
export type { BusLike, CloseOptions, FrameBatches, SubscribeOptions, Subscription } from './core/bus-like.ts'
export type { BusStats, Diagnostic, RejectionReason, SubscriberStats } from './core/diagnostics.ts'
export { SubscriberLimitExceededError } from './core/errors.ts'
export {
  type AnyEvents,
  type BacklogFigures,
  type BusEvent,
  type ClientEvicted,
  type ControlFrame,
  EVENT_SCHEMA_VERSION,
  type EventMap,
  type EventOf,
  type Frame,
  isControlFrame,
  type PublishInput,
  type ReplayComplete,
  type ReservedType,
  type ResyncReason,
  type SlowClientWarning,
  type StateResyncRequired,
  type StreamError,
} from './core/event.ts'
export type { Filter, FilterIndex } from './core/filter-index.ts'
export type { EventBusOptions } from './core/options.ts'
export { BoundedAsyncQueue } from './core/queue.ts'
export type { BoundedAsyncQueueOptions } from './core/queue-parts.ts'
