/**
 * Limit for a fan-out: one circular array that retains the events, and bare hand-written iterators that are an index
 * into it. A waiting reader is handed the value by its resolver. No caps, no eviction, no filter, no end. Measured
 * against a queue per reader, this is the faster of the two, hence the limit.
 */
export function create({ ringSize = 8000, batches = false }) {
  const ring = new Array(ringSize)
  const readers = []
  let head = 0

  class Reader {
    at = head
    resolve = undefined

    next() {
      if (this.at < head) return Promise.resolve({ value: ring[++this.at % ringSize], done: false })
      return new Promise((resolve) => {
        this.resolve = resolve
      })
    }

    hand(event) {
      const resolve = this.resolve
      if (resolve === undefined) return
      this.resolve = undefined
      this.at = head
      resolve({ value: event, done: false })
    }

    [Symbol.asyncIterator]() {
      return this
    }
  }

  class BatchReader extends Reader {
    next() {
      if (this.at < head) return Promise.resolve({ value: this.take(), done: false })
      return new Promise((resolve) => {
        this.resolve = resolve
      })
    }

    take() {
      const from = (this.at + 1) % ringSize
      const to = (head % ringSize) + 1
      this.at = head
      return from < to ? ring.slice(from, to) : ring.slice(from).concat(ring.slice(0, to))
    }

    hand(event) {
      const resolve = this.resolve
      if (resolve === undefined) return
      this.resolve = undefined
      this.at = head
      resolve({ value: [event], done: false })
    }
  }

  return {
    publish(input) {
      const event = Object.freeze({ id: ++head, v: 1, type: input.type, data: input.data })
      ring[head % ringSize] = event
      for (let i = 0; i < readers.length; i++) readers[i].hand(event)
      return event
    },

    async consume(consumer) {
      const reader = batches ? new BatchReader() : new Reader()
      readers.push(reader)
      if (batches) {
        for await (const batch of reader) {
          for (let i = 0; i < batch.length; i++) consumer.see(batch[i])
        }
      } else {
        for await (const event of reader) consumer.see(event)
      }
    },
  }
}
