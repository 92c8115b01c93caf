/** The longest line that is published whole, in characters; input without any line end must not fill the memory. */
const MAX_LINE = 8192

/**
 * The lines of a stream of bytes as `{ text, clipped }`, without their line ends (LF or CRLF). What of a line exceeds
 * the limit is dropped and said so by `clipped`. A last line without a line end counts.
 *
 * @param {AsyncIterable<Uint8Array>} bytes UTF-8; what is none becomes U+FFFD.
 */
export async function* splitLines(bytes) {
  const decoder = new TextDecoder()
  let line = ''
  let clipped = false

  const add = (piece) => {
    clipped ||= line.length + piece.length > MAX_LINE
    line = (line + piece).slice(0, MAX_LINE)
  }
  const take = () => {
    const taken = { text: line.endsWith('\r') ? line.slice(0, -1) : line, clipped }
    line = ''
    clipped = false
    return taken
  }

  for await (const chunk of bytes) {
    const pieces = decoder.decode(chunk, { stream: true }).split('\n')
    const rest = pieces.pop()
    for (const piece of pieces) {
      add(piece)
      yield take()
    }
    add(rest)
  }
  add(decoder.decode())
  if (line !== '') yield take()
}
