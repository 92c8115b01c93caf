/** Limit for reading a replay: `for await` over an iterator that is an index into an array of the same events. */
export function create({ events: count, data }) {
  const events = []
  for (let id = 1; id <= count; id++) events.push(Object.freeze({ id, v: 1, type: 'tick', data }))

  class Reader {
    at = 0

    next() {
      if (this.at < events.length) return Promise.resolve({ value: events[this.at++], done: false })
      return Promise.resolve({ value: undefined, done: true })
    }

    [Symbol.asyncIterator]() {
      return this
    }
  }

  return {
    async read() {
      let last = 0
      for await (const event of new Reader()) {
        if (event.id !== ++last) throw new Error(`expected ${last}, got ${event.id}`)
      }
      return last
    },
  }
}
