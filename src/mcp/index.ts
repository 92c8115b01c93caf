export { EventRejectedError } from './errors.ts'
export { type BusStoreOptions, createEventStore, type MemoryStoreOptions } from './options.ts'
export type { EventStore } from './store.ts'
