/** The bare commands: `XADD`, and one reader that blocks in `XREAD`. */
import { createClient } from 'redis'
import { JSON_OF_INPUT } from '../fixtures/redis-events.mjs'

const RING = '8000'

export async function open(url, key) {
  const writer = await createClient({ url }).connect()
  const reader = await writer.duplicate().connect()
  await writer.del(key)
  const publish = () => writer.sendCommand(['XADD', key, 'MAXLEN', RING, '0-*', 'event', JSON_OF_INPUT])
  let last = 0

  return {
    publish,
    async roundTrip() {
      const reading = reader.sendCommand([
        'XREAD',
        'COUNT',
        '1000',
        'BLOCK',
        '2000',
        'STREAMS',
        key,
        `0-${last}`,
      ])
      void publish()
      const reply = await reading
      const [entries] = Array.isArray(reply) ? reply.map(([, list]) => list) : Object.values(reply)
      const [[id]] = entries
      if (id !== `0-${++last}`) throw new Error(`expected ${last}, got ${id}`)
    },
    async close() {
      await writer.del(key)
      writer.destroy()
      reader.destroy()
    },
  }
}
