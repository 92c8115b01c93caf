/** The body of a request as JSON, bounded before it is parsed. */

/** Why a body is no JSON: the status that says so. */
export type BodyFault = 400 | 413

/** Never throws: a body that is cut off is no JSON either. */
export async function readJson(request: Request, maxBytes: number): Promise<{ value: unknown } | BodyFault> {
  if (Number(request.headers.get('content-length')) > maxBytes) return 413
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
        return 413
      }
      text += decoder.decode(value, { stream: true })
    }
    return { value: JSON.parse(text + decoder.decode()) }
  } catch {
    reader?.cancel().catch(() => {})
    return 400
  }
}
