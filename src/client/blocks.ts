/*!
 * This module contains eventsource-parser, https://github.com/rexxars/eventsource-parser
 *
 * MIT License
 *
 * Copyright (c) 2026 Espen Hovlandsdal <espen@hovlandsdal.com>
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */
/** Bytes of an event stream as blocks, the same however they are cut. */

import { createParser } from 'eventsource-parser'

/**
 * A block with an id or with data. One that has an id and no data is a cursor block, whatever it is called: the event is
 * `cursor` and the data empty.
 */
export type OnBlock = (id: string | undefined, event: string | undefined, data: string) => void

/**
 * Reads one connection. A block that the connection's end cuts off is dropped (HTML standard, § 9.2.6). Throws
 * `RangeError` at a block with more data than `maxBufferSize` characters.
 */
export function createBlockReader(
  onBlock: OnBlock,
  onRetry: (ms: number) => void,
  maxBufferSize: number,
): (bytes: Uint8Array) => void {
  let loneId: string | undefined
  const tooLarge = () => {
    throw new RangeError(`maxBufferSize: a block has more than ${maxBufferSize} characters`)
  }
  /** The parser tells an id before it knows whether data follows. */
  const flush = () => {
    if (loneId === undefined) return
    const id = loneId
    loneId = undefined
    onBlock(id, 'cursor', '')
  }
  const parser = createParser({
    onRetry,
    onId(id) {
      flush()
      loneId = id
    },
    onEvent({ id, event, data }) {
      if (id === undefined) flush()
      else loneId = undefined
      // The parser counts what it keeps between two chunks only.
      if (data.length > maxBufferSize) tooLarge()
      onBlock(id, event, data)
    },
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') tooLarge()
    },
    // Bounds the memory. It counts whatever line is unfinished with the data, so it must not judge: where a chunk is cut
    // would decide.
    maxBufferSize: 2 * maxBufferSize + 1024,
  })
  // The parser strips the byte order mark, of which a decoder would strip a second one.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return (bytes) => {
    // Whether a character may be cut. A decoder that need not remember takes half as long, and ASCII half the room. What has
    // no `at` is read all the same: a `fetch` of the user's own may give whatever a decoder takes.
    const stream = !((bytes.at?.(-1) as number) < 0x80)
    parser.feed(decoder.decode(bytes, { stream }))
    flush()
  }
}
