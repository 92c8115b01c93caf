import { createClient } from 'redis'
import { createRedisBus } from '../../dist/redis.js'
import { startEcho } from '../fixtures/redis.mjs'
import { chunk, INPUT } from '../fixtures/redis-events.mjs'

// What a run leaves behind goes by itself.
const TTL_MS = 60_000

export async function open(url, key) {
  const client = createClient({ url })
  const bus = await createRedisBus({ client, key, ttlMs: TTL_MS })
  let last = bus.lastEventId
  let streams = 0
  let arrived = () => {}

  void (async () => {
    for await (const { id, type } of bus.subscribe({ maxQueued: Infinity })) {
      if (id !== ++last) throw new Error(`expected ${last}, got ${id}`)
      arrived(type)
    }
  })()

  /** Settles when an event of a type is there. */
  const arrival = (wanted) =>
    new Promise((resolve) => {
      arrived = (type) => type === wanted && resolve()
    })

  return {
    publish: () => bus.publish(INPUT),
    async deliver() {
      const delivered = arrival(INPUT.type)
      void bus.publish(INPUT)
      await delivered
    },
    startEcho: () => startEcho(new URL('./redis-echo.mjs', import.meta.url), key),
    async roundTrip() {
      const answered = arrival('answer')
      void bus.publish(INPUT)
      await answered
    },
    async stream(count, readers) {
      const own = `${key}:${++streams}`
      const writing = await createRedisBus({ client, key: own, ttlMs: TTL_MS })
      const lengths = Array.from({ length: readers }, async () => {
        let length = 0
        for await (const frame of writing.subscribe({ from: 'earliest', maxQueued: Infinity })) {
          if (frame.id !== undefined && frame.id === length + 1) length++
        }
        return length
      })
      for (let i = 0; i < count; i++) void writing.publish({ type: 'chunk', data: chunk(i) })
      await writing.end()
      const read = await Promise.all(lengths)
      await writing.close()
      return read
    },
  }
}
