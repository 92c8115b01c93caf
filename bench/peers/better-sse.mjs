/** better-sse as its page shows it: a session per response, registered with a channel that broadcasts. */
import { createChannel, createSession } from 'better-sse'

export function create({ epoch, data }) {
  const channel = createChannel()
  let id = 0

  return {
    async handle(req, res) {
      channel.register(await createSession(req, res))
    },
    prebuild() {},
    // The same envelope and the same id as the others write; without an id it would draw a UUID per event.
    publish() {
      const event = Object.freeze({ id: ++id, v: 1, type: 'tick', data })
      channel.broadcast(event, 'tick', { eventId: `${epoch}:${id}` })
    },
  }
}
