/** The library's routers: handlers by pattern through `subscribe`, plain subscribers where a row compares with those. */
import { EventBus } from '../../dist/index.js'
import { AwaitService, compilePattern, matchEvents, subscribe } from '../../dist/router.js'

export function create() {
  const bus = new EventBus()
  return {
    on: (type, handler) => subscribe(bus, { type }, handler),
    emit: (type, data) => bus.publish({ type, data }),
  }
}

/** Subscribers that are read as adapters read: without a promise for each event. */
export function createSubscribers() {
  const bus = new EventBus()
  const read = (subscription, see) => {
    const ask = () =>
      subscription.receive(({ value }) => {
        see(value)
        ask()
      }, fail)
    ask()
  }
  return {
    plain: (see) => read(bus.subscribe(), see),
    matching: (patterns, see) => read(bus.subscribe({ filter: matchEvents(patterns) }), see),
    publish: (input) => bus.publish(input),
  }
}

/** A server that answers every request, and what makes one and waits for its reply. */
export function createRequests() {
  const bus = new EventBus()
  const replies = new AwaitService(bus)
  subscribe(bus, { type: 'request' }, ({ path, data }) => {
    bus.publish({ type: 'response.accept', path, data })
  })
  return async (data) => {
    const reply = replies.prepare({ type: 'response.(accept|reject)', path: 'one' })
    bus.publish({ type: 'request', path: 'one', data })
    const { event } = await reply.wait()
    return event.data
  }
}

export const matcher = (pattern) => compilePattern(pattern).match

function fail(error) {
  console.error(error)
  process.exit(1)
}
