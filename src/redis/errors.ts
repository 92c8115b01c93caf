/**
 * Redis could not be reached in time. What was asked may still happen: a publish that was on its way when it was given up
 * reaches every subscriber if Redis takes it after all. `cause` is what the client said last, if it said anything.
 */
export class BackendUnavailableError extends Error {
  readonly code = 'backend_unavailable'

  constructor(what: string, ms: number, cause?: unknown) {
    super(`${what} was not confirmed by Redis within ${ms} ms`, cause === undefined ? undefined : { cause })
    this.name = 'BackendUnavailableError'
  }
}
