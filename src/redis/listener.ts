/** What a bus is told of its stream. */

import type { BusEvent, StateResyncRequired } from '../core/event.ts'

/** What a window that begins anew says of what was before. */
export type Restart = Omit<StateResyncRequired['data'], 'lastDeliveredId'> & {
  readonly lastDeliveredId: number
}

/** Who is told what is read. */
export interface Listener {
  /** An event, and the mark of its publisher. */
  onEvent(event: BusEvent, bytes: number, mark: string): void
  /** Events are gone, or the stream is another one. */
  onRestart(restart: Restart): void
  /** There will be no more events. */
  onEnd(): void
  /** It stands in the stream: there it reads on, and publishes. */
  onOpen(): void
  onUp(): void
  onDown(error: unknown): void
}
