/**
 * The way from a request to the reader of its body: what counts as an event stream, what is worth another try, and how
 * long a head may take.
 */

import { after } from '../internal/timer.ts'
import { SseHttpError } from './errors.ts'

export type ChunkReader = ReadableStreamDefaultReader<Uint8Array>

/** A refusal. `final`: asking again would not help; `floorMs`: when to ask again at the earliest. */
export interface Refusal {
  readonly error: SseHttpError
  readonly final: boolean
  readonly floorMs: number
}

const MAX_ERROR_BODY = 65_536
const TEXT_MS = 1000

/** A response's head, and the reader of its body, which is cancelled as the signal aborts. */
export interface Answer {
  readonly response: Response
  readonly body: ChunkReader | undefined
}

/** The answer to a request, or what the signal was aborted with: not every `fetch` settles then. */
export function answerOf(fetched: Promise<Response>, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(signal.reason)
    signal.addEventListener('abort', refuse)
    if (signal.aborted) refuse()
    fetched
      .then((response) => {
        const body = response.body?.getReader()
        const cancel = () => void body?.cancel().catch(ignore)
        // Too late: nobody will read it.
        if (signal.aborted) return cancel()
        signal.addEventListener('abort', cancel)
        resolve({ response, body })
      })
      .catch(reject)
  })
}

/** What is wrong with a response, or undefined for an event stream. */
export async function refusalOf(
  response: Pick<Response, 'ok' | 'status' | 'headers'>,
  reader: ChunkReader | undefined,
  url: string,
): Promise<Refusal | undefined> {
  const { ok, status, headers } = response
  const type = headers.get('content-type')
  if (ok && /^text\/event-stream\s*([;,]|$)/i.test(type ?? '')) return undefined
  return {
    error: new SseHttpError(
      ok ? `the content type is ${type}, not text/event-stream` : `the server answered ${status}`,
      status,
      url,
      await textOf(reader),
    ),
    final: !/^(408|425|429|5..)$/.test(`${status}`),
    floorMs: retryAfter(headers.get('retry-after') ?? ''),
  }
}

/** Seconds, or a date of HTTP; whatever else a date could be read from would stop the client for years. */
function retryAfter(wait: string): number {
  if (/^\d{1,9}$/.test(wait)) return +wait * 1000
  return (/GMT$/.test(wait) && Date.parse(wait) - Date.now()) || 0
}

/** The text as far as it comes, and as it comes soon: an endless one says no more than its beginning. */
async function textOf(reader: ChunkReader | undefined): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  const stopTimer = after(TEXT_MS, () => void reader?.cancel().catch(ignore), 'awaited')
  try {
    while (reader && text.length < MAX_ERROR_BODY) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    // The status matters, not what is said about it.
  }
  stopTimer()
  return text.slice(0, MAX_ERROR_BODY)
}

export function ignore(): void {}

/** Whatever a callback throws or rejects with is its own affair. */
export function tell(callback: () => void): void {
  ;(async () => callback())().catch(ignore)
}
