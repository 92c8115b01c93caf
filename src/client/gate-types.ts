import type { AnyEvents, Frame, StateResyncRequired } from '../index.ts'

/** The last event that a state contains: its id, or the cursor `<epoch>:<id>`. Nothing where the state is not loaded. */
type Loaded = number | string | undefined

export interface ResyncGateOptions<Events = AnyEvents> {
  /**
   * Reloads the state and returns the cursor of what it loaded; called at once with the frame that says what is missing.
   * Nothing returned leaves the gate shut until `resynced`.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function that returns nothing returns `Promise<void>`.
  onResync?: ((frame: StateResyncRequired) => Loaded | void | PromiseLike<Loaded | void>) | undefined
  /** What is not held while the gate is shut; default the control frames. `state_resync_required` is never held. */
  passthrough?: ((frame: Frame<Events>) => boolean) | undefined
  /** Frames held at the most, default 1024. */
  maxHeld?: number | undefined
}

export interface ResyncGate<Events = AnyEvents> {
  /** What is to be applied now, in order: usually the frame itself, nothing while it is held. */
  push(frame: Frame<Events>): Frame<Events>[]
  /** The same for a whole stream. Ending it ends `source`. */
  through(source: AsyncIterable<Frame<Events>>): AsyncIterableIterator<Frame<Events>, undefined>
  /** The state was reloaded up to `cursor`. Returns what is to be applied now; where `through` is read, that yields it. */
  resynced(cursor: number | string): Frame<Events>[]
  /** The state is not what the stream goes on from: events are held. */
  readonly shut: boolean
}
