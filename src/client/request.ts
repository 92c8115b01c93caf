/** One request after the other for the same stream, each from where the last one ended. */

import { check, option, wrongType } from '../internal/check.ts'
import type { SseOptions } from './options.ts'

export interface Requests {
  /** Where to start. */
  readonly cursor: string | undefined
  /** Sends the request that resumes behind the cursor. */
  send(cursor: string | undefined, signal: AbortSignal): Promise<Response>
}

/** Throws `TypeError` or `RangeError` naming the option. */
export function prepareRequests(url: string | URL, options: SseOptions): Requests {
  const fetch = option(options, 'fetch', 'function')
  const address = addressOf(url, fetch)
  const headers = option(options, 'headers', 'object')
  const given = made('headers', () => new Headers(headers))
  const param = option(options, 'cursorParam', 'string')
  if (param === '') throw new RangeError('cursorParam is empty')
  const { body, lastEventId = given.get(HEADER) ?? undefined } = options
  // Where to start, said once: later on it would be a place that the stream has left.
  given.delete(HEADER)
  // biome-ignore lint/suspicious/noExplicitAny: it may be anything, and a stream of any make can be sent once only.
  if (body === null || (body as any)?.getReader || (body as any)?.[Symbol.asyncIterator]) {
    throw wrongType('body', 'one that can be sent more than once', body)
  }
  if (!given.has('accept')) given.set('accept', 'text/event-stream')
  const init: RequestInit = {
    method: option(options, 'method', 'string', body === undefined ? 'GET' : 'POST'),
    headers: given,
  }
  if (body !== undefined) init.body = body
  const credentials = option(options, 'credentials', 'string')
  if (credentials !== undefined) init.credentials = credentials
  // Some hosts have no cache and refuse the option.
  if ('cache' in Request.prototype) init.cache = 'no-store'
  // What the platform can never send would be tried for ever. Another `fetch` may take what the platform does not.
  if (!fetch) made('method, body or credentials', () => new Request(address, init))

  return {
    cursor: cursorOf(lastEventId),
    // Asynchronous, so that whatever it throws or returns is met in one way.
    async send(cursor, signal) {
      const headers = new Headers(given)
      let target = address
      if (cursor !== undefined) {
        if (param === undefined) headers.set(HEADER, headerText(cursor))
        else target = withParam(address, param, cursor)
      }
      return (fetch ?? globalThis.fetch)(target, { ...init, headers, signal })
    },
  }
}

/** Throws `TypeError` for what is neither, and for what the platform's `fetch`, where none is given, could never send. */
export function addressOf(url: string | URL, fetch: unknown): string {
  const address = check('url', typeof url === 'object' ? url?.href : url, 'string or URL')
  if (!fetch) made('url (absolute outside browsers)', () => new Request(address))
  return address
}

const HEADER = 'Last-Event-ID'

/** The platform's own errors quote what they refuse, passwords in URLs and tokens in headers included. */
export function made<T>(name: string, make: () => T): T {
  try {
    return make()
  } catch {
    throw new TypeError(`${name}: nothing that fetch can send`)
  }
}

/** The empty id is what a client has that has seen none. */
function cursorOf(value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined
  const cursor = `${check('lastEventId', value, 'string or number', 0, Number.MAX_SAFE_INTEGER)}`
  if (/[\r\n\0]/.test(cursor)) throw new RangeError('lastEventId must be one line')
  return cursor
}

/**
 * UTF-8 in a string of bytes, which is what the standard sends (HTML, § 9.2.4) and what a header takes. No header takes a
 * control character: those stay escaped, and the server is told of a cursor that it does not know.
 */
function headerText(cursor: string): string {
  return encodeURIComponent(cursor).replace(/%(?![01]|7F)(..)/g, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** The rest of the query stays as it was written: signatures are made over it. */
function withParam(address: string, name: string, value: string): string {
  const [base, query] = (address.split('#')[0] as string).split(/\?(.*)/s)
  const others = query?.split('&').filter((pair) => pair && !new URLSearchParams(pair).has(name)) ?? []
  return `${base}?${[...others, new URLSearchParams([[name, value]])].join('&')}`
}
