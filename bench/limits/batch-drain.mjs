/**
 * Limit for a fan-out read in batches: an array per reader, handed over whole. A waiting reader is handed its first
 * event by its resolver. No caps, no eviction, no filter, no end. The ring retains what a resume would need.
 */
export function create({ ringSize = 8000 }) {
  const ring = new Array(ringSize)
  const readers = []
  let head = 0

  class Reader {
    queue = []
    resolve = undefined

    next() {
      if (this.queue.length > 0) {
        const batch = this.queue
        this.queue = []
        return Promise.resolve({ value: batch, done: false })
      }
      return new Promise((resolve) => {
        this.resolve = resolve
      })
    }

    push(event) {
      const resolve = this.resolve
      if (resolve === undefined) {
        this.queue.push(event)
        return
      }
      this.resolve = undefined
      resolve({ value: [event], done: false })
    }

    [Symbol.asyncIterator]() {
      return this
    }
  }

  return {
    publish(input) {
      const event = Object.freeze({ id: ++head, v: 1, type: input.type, data: input.data })
      ring[head % ringSize] = event
      for (let i = 0; i < readers.length; i++) readers[i].push(event)
      return event
    },

    async consume(consumer) {
      const reader = new Reader()
      readers.push(reader)
      for await (const batch of reader) {
        for (let i = 0; i < batch.length; i++) consumer.see(batch[i])
      }
    },
  }
}
