/** Errors are told by `code`: an object of one bundle's class is no instance of another's. */
export class AwaitTimeoutError extends Error {
  readonly code = 'await_timeout'

  constructor(type: string, timeoutMs: number) {
    super(`no event ${type} within ${timeoutMs} ms`)
    this.name = 'AwaitTimeoutError'
  }
}

/** What is over takes nothing new, and what waited for it is told. */
export function stoppedError(what: string): Error {
  return Object.assign(new Error(`${what} is stopped`), { code: 'stopped' })
}

/** The name that a platform's own abort has; its cause is the signal's reason. */
export function abortError({ reason }: AbortSignal): Error {
  const error = new Error('the wait was aborted', { cause: reason })
  return Object.assign(error, { name: 'AbortError', code: 'aborted' })
}
