/** it-pushable: one pushable per consumer. */
import { pushable } from 'it-pushable'

export function create() {
  const sources = []
  let id = 0

  return {
    publish(input) {
      const event = Object.freeze({ id: ++id, v: 1, type: input.type, data: input.data })
      for (let i = 0; i < sources.length; i++) sources[i].push(event)
      return event
    },

    async consume(consumer) {
      const source = pushable({ objectMode: true })
      sources.push(source)
      for await (const event of source) consumer.see(event)
    },
  }
}
