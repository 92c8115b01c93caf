/**
 * The stream ended for good: the server refused it, answered with something else than an event stream, or the retries are
 * spent. `cause` is what the last attempt failed with where that was no answer.
 */
export class SseHttpError extends Error {
  readonly code = 'sse_http_error'
  /** Of the last response; 0 where there was none. */
  readonly status: number
  /** Where that response came from, behind redirects. */
  readonly url: string
  /** Its text, cut at 65,536 characters; empty where that was an event stream. */
  readonly body: string

  constructor(message: string, status: number, url: string, body: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'SseHttpError'
    this.status = status
    this.url = url
    this.body = body
  }
}
