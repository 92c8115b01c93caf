/** The library in the fan-out: defaults, or with every byte cap on, set so wide that none is reached. */
import { EventBus } from '../../dist/index.js'
import { byteCaps } from './byte-caps.mjs'

export function create({ ringSize, batches = false, caps = false }) {
  const bus = new EventBus({ ...(ringSize && { ringSize }), ...(caps && byteCaps) })

  return {
    publish: (input) => bus.publish(input),

    async consume(consumer) {
      const subscription = bus.subscribe()
      if (batches) {
        for await (const batch of subscription.batches()) {
          for (let i = 0; i < batch.length; i++) consumer.see(batch[i])
        }
      } else {
        for await (const event of subscription) consumer.see(event)
      }
    },
  }
}
