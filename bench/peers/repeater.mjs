/** Repeater with a buffer as large as our default cap. */
import { FixedBuffer, Repeater } from '@repeaterjs/repeater'

export function create() {
  const pushes = []
  let id = 0

  return {
    publish(input) {
      const event = Object.freeze({ id: ++id, v: 1, type: input.type, data: input.data })
      for (let i = 0; i < pushes.length; i++) pushes[i](event)
      return event
    },

    async consume(consumer) {
      const repeater = new Repeater((push, stop) => {
        pushes.push(push)
        return stop
      }, new FixedBuffer(256))
      for await (const event of repeater) consumer.see(event)
    },
  }
}
