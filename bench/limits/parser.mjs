/** Limit for a reader: the parser alone and `JSON.parse`, by callback. No cursor, no duplicates, no end, no iterator. */
import { createParser } from 'eventsource-parser'

export function create() {
  return {
    async read(response, see) {
      const parser = createParser({ onEvent: ({ data }) => see(JSON.parse(data)) })
      const decoder = new TextDecoder()
      const reader = response.body.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        parser.feed(decoder.decode(value, { stream: true }))
      }
    },
  }
}
