/** Node's own `events.on`. */
import { EventEmitter, on } from 'node:events'

export function create() {
  const emitter = new EventEmitter()
  let id = 0

  return {
    publish(input) {
      const event = Object.freeze({ id: ++id, v: 1, type: input.type, data: input.data })
      emitter.emit('event', event)
      return event
    },

    async consume(consumer) {
      for await (const args of on(emitter, 'event')) consumer.see(args[0])
    },
  }
}
