/** Errors are told by `code`: an object of one bundle's class is no instance of another's. */
export class SubscriberLimitExceededError extends Error {
  readonly code = 'subscriber_limit_exceeded'
  /** The bus's `maxSubscribers`. */
  readonly limit: number

  constructor(limit: number) {
    super(`maxSubscribers reached: ${limit}`)
    this.name = 'SubscriberLimitExceededError'
    this.limit = limit
  }
}
