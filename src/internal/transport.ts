/** What a session sends to, whatever carries it. */
export interface TransportStream {
  /**
   * Sends a message as JSON, with an `id:` line where there is an id. Settles when the stream took it: a client that does
   * not read keeps it pending. Rejects with `code: 'transport_closed'` on a stream that is over.
   */
  send(message: unknown, id?: number): void | Promise<void>
  /** Moves the client's cursor, and shows it nothing. */
  cursor?(id: number): void | Promise<void>
  /** Ends the stream behind what was sent; a reason is told as `stream_error{code: reason}`. */
  close(reason?: string): void
  readonly isClosed: boolean
  /** Settles when the stream is over, whoever ended it. */
  readonly closed: Promise<void>
}

/** What a send on a stream that is over rejects with. */
export function closedError(): Error {
  return Object.assign(new Error('the transport is closed'), { code: 'transport_closed' })
}
