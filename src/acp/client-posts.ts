/** The POSTs of a client, each repeated until the server has surely taken it in. */

import { backoff } from '../client/backoff.ts'
import { answerOf, ignore, type Refusal, refusalOf, tell } from '../client/connection.ts'
import { SseHttpError } from '../client/errors.ts'
import { after } from '../internal/timer.ts'
import type { ClientSettings } from './client-options.ts'
import { JSON_TYPE } from './wire.ts'

/** When a failed request may be sent again. */
export type MayRepeat = (error: unknown) => boolean

export interface Accepted {
  readonly headers: Headers
  /** Where the answer was asked for. */
  readonly text: string
}

/** Whatever is tried again is taken in once, however often it arrives. */
export const always: MayRepeat = () => true

// What Node, Bun and the systems below them say of a connection that never was.
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/

/** Only what surely reached nobody. A browser never says so. */
export const ifNeverSent: MayRepeat = (error) => {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return NEVER_SENT.test(`${cause?.code ?? code}`)
}

/** Told by its code: another bundle has another class. */
export function isHttpError(error: unknown): error is SseHttpError {
  return (error as { code?: unknown } | null)?.code === 'sse_http_error'
}

/**
 * Sends until it is accepted. Rejects with `SseHttpError` for a refusal that is final or once the retries are spent, with
 * what `fetch` failed with where that may not be repeated, and with the signal's reason.
 */
export async function send(
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string },
  { fetch, headers, credentials, retryMs, maxRetryMs, maxRetries, onRetry }: ClientSettings,
  { mayRepeat, timeoutMs, signal, wantsText }: Sending,
): Promise<Accepted> {
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(init.headers)) all.set(name, value)
  if (init.body !== undefined) all.set('Content-Type', JSON_TYPE)
  const request: RequestInit = { ...init, headers: all, ...(credentials && { credentials }) }

  const once = async (): Promise<Accepted | { error: unknown; final: boolean; floorMs: number }> => {
    const controller = new AbortController()
    const stop = () => controller.abort(signal.reason)
    signal.addEventListener('abort', stop)
    const late = () => controller.abort(new Error('no answer came in time'))
    const stopTimer = after(timeoutMs, late, 'awaited')
    try {
      const sent = (async () => (fetch ?? globalThis.fetch)(url, { ...request, signal: controller.signal }))()
      const { response, body } = await answerOf(sent, controller.signal)
      const { ok, status, headers } = response
      // Some other page, which a gateway led to, has not taken anything in.
      if (wantsText ? ok : status === 202) {
        const text = wantsText ? await textOf(body) : ''
        if (!wantsText) body?.cancel().catch(ignore)
        controller.signal.throwIfAborted()
        return { headers, text }
      }
      // An event stream's refusals are any request's, and here it is one itself.
      const refused = { ok: false, status, headers }
      return (await refusalOf(refused, body, response.url || url)) as Refusal
    } catch (error) {
      return { error, final: false, floorMs: 0 }
    } finally {
      stopTimer()
      signal.removeEventListener('abort', stop)
    }
  }

  for (let failures = 0; ; failures++) {
    signal.throwIfAborted()
    const outcome = await once()
    if ('text' in outcome) return outcome
    signal.throwIfAborted()
    const { error, final, floorMs } = outcome
    if (final || !mayRepeat(error)) throw error
    if (failures >= maxRetries) {
      if (isHttpError(error)) throw error
      throw new SseHttpError('maxRetries spent', 0, url, '', error)
    }
    const delayMs = Math.max(floorMs, backoff(retryMs, maxRetryMs, failures))
    tell(() => onRetry?.({ attempt: failures + 1, delayMs, error }))
    await pause(delayMs, signal)
  }
}

export interface Sending {
  readonly mayRepeat: MayRepeat
  /** Until the head of the answer, or its end where its text is wanted. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly wantsText?: boolean
}

async function textOf(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) return text + decoder.decode()
    text += decoder.decode(value, { stream: true })
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stopTimer()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const stopTimer = after(ms, done, 'awaited')
    signal.addEventListener('abort', done)
  })
}
