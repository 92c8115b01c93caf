/** The message was not stored: JSON cannot carry it, or the bus has ended. Told by `code`. */
export class EventRejectedError extends Error {
  readonly code = 'event_rejected'

  constructor() {
    super('the message was refused')
    this.name = 'EventRejectedError'
  }
}

/** Messages that somebody was promised cannot be had; asked again, the store says so in its own way. */
export function replayFailure(code: 'replay_gap' | 'backend_unavailable', message: string): Error {
  return Object.assign(new Error(message), { code })
}
