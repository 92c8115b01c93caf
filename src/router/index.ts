export { type AwaitOptions, AwaitService, type ReplyWaiter } from './await-service.ts'
export {
  bridgePort,
  type PortBridge,
  type PortLike,
  type PortMessage,
  type PortRequest,
} from './bridge-port.ts'
export { AwaitTimeoutError } from './errors.ts'
export { type EventPattern, matchEvents } from './match-events.ts'
export { type CompiledPattern, compilePattern } from './pattern.ts'
export {
  EventRouter,
  type HandlerFor,
  type RouteHandler,
  type RoutePattern,
  type RouterOptions,
  startRouter,
} from './router.ts'
export type { HandlerContext } from './runs.ts'
export {
  type Handler,
  type HandlerSubscription,
  type SubscribeHandlerOptions,
  subscribe,
} from './subscribe.ts'
export type { ErrorSource, Gap } from './subscriber.ts'
export type { EventIn, Matched } from './types.ts'
export type { Reply } from './waiter.ts'
