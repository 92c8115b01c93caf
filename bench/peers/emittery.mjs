/** emittery's `events()` iterator. Its 2.x asks for Node 22 and calls `Promise.withResolvers`, so 1.2 it is. */
import Emittery from 'emittery'

export function create() {
  const emitter = new Emittery()
  let id = 0

  return {
    publish(input) {
      const event = Object.freeze({ id: ++id, v: 1, type: input.type, data: input.data })
      // Its iterators take the event inside this call; the promise is for listeners, of which there are none.
      emitter.emit('event', event)
      return event
    },

    async consume(consumer) {
      for await (const event of emitter.events('event')) consumer.see(event)
    },
  }
}
