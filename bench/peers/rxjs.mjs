/**
 * RxJS `ReplaySubject` with as many retained events as our ring. RxJS 7 has no async iterator of its own, so it gets
 * the cheapest one that we could write: an array, and a resolver for a waiting reader.
 */
import { ReplaySubject } from 'rxjs'

export function create() {
  const subject = new ReplaySubject(8000)
  let id = 0

  return {
    publish(input) {
      const event = Object.freeze({ id: ++id, v: 1, type: input.type, data: input.data })
      subject.next(event)
      return event
    },

    async consume(consumer) {
      for await (const event of iterate(subject)) consumer.see(event)
    },
  }
}

function iterate(observable) {
  let queue = []
  let at = 0
  let waiting
  observable.subscribe((event) => {
    if (waiting === undefined) {
      queue.push(event)
      return
    }
    const resolve = waiting
    waiting = undefined
    resolve({ value: event, done: false })
  })
  return {
    next() {
      if (at < queue.length) {
        const value = queue[at++]
        if (at === queue.length) {
          queue = []
          at = 0
        }
        return Promise.resolve({ value, done: false })
      }
      return new Promise((resolve) => {
        waiting = resolve
      })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
