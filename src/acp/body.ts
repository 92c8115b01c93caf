/** The body of a request as JSON, bounded before it is parsed. */

import { respond } from './wire.ts'

/** The refusal where it is none. Never throws: a body that is cut off is no JSON either. */
export async function readJson(request: Request, maxBytes: number): Promise<{ value: unknown } | Response> {
  const tooLarge = () => respond(413, 'Content Too Large')
  if (Number(request.headers.get('content-length')) > maxBytes) return tooLarge()
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  // Broken UTF-8 is no JSON (RFC 8259, § 8.1).
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let size = 0
  try {
    // Throws where somebody else reads it.
    reader = request.body?.getReader()
    while (reader) {
      const { done, value } = await reader.read()
      if (done) break
      size += value.length
      if (size > maxBytes) {
        reader.cancel().catch(() => {})
        return tooLarge()
      }
      text += decoder.decode(value, { stream: true })
    }
    return { value: JSON.parse(text + decoder.decode()) }
  } catch {
    reader?.cancel().catch(() => {})
    return respond(400, 'Invalid JSON')
  }
}
