/** The library as a reader of a replay, and as a bus that many subscribers resume on or idle at. */
import { EventBus } from '../../dist/index.js'

/** `published` above `events`: the ring has moved on, and a resume from 0 begins with a resync frame. */
export function create({ events, data, published = events, resume = true, waiting = false }) {
  const bus = new EventBus({ ringSize: events, maxSubscribers: 1_000_000 })
  for (let i = 0; i < published; i++) bus.publish({ type: 'tick', data })

  return {
    async read() {
      let last = 0
      for await (const frame of bus.subscribe({ lastEventId: 0 })) {
        if (frame.id === ++last) continue
        if (frame.type === 'replay_complete') break
        throw new Error(`expected ${last}, got ${frame.id} (${frame.type})`)
      }
      return last - 1
    },

    subscribe() {
      const subscription = resume ? bus.subscribe({ lastEventId: 0 }) : bus.subscribe()
      if (waiting) subscription.next()
      return subscription
    },

    async replayed(subscription) {
      let count = 0
      let expected = published - events
      for await (const frame of subscription) {
        if (frame.type === 'replay_complete') break
        if (frame.type === 'state_resync_required' && count === 0) continue
        if (frame.id !== ++expected) throw new Error(`expected ${expected}, got ${frame.id} (${frame.type})`)
        count++
      }
      return count
    },

    release() {
      bus.close({ drain: false })
    },
  }
}
