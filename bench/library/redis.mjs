import { createClient } from 'redis'
import { createRedisBus } from '../../dist/redis.js'
import { chunk, INPUT } from '../fixtures/redis-events.mjs'

export async function open(url, key) {
  const client = createClient({ url })
  const bus = await createRedisBus({ client, key })
  // A second node on the same stream: what it delivers came from Redis.
  const other = await createRedisBus({ client, key })
  const reader = other.subscribe()
  const waiting = []
  let last = bus.lastEventId
  let streams = 0

  void (async () => {
    for await (const { id } of other.subscribe({ maxQueued: Infinity })) {
      if (id !== ++last) throw new Error(`expected ${last}, got ${id}`)
      waiting.shift()?.()
    }
  })()
  await reader.return()

  return {
    publish: () => bus.publish(INPUT),
    async roundTrip() {
      const delivered = new Promise((resolve) => waiting.push(resolve))
      bus.publish(INPUT)
      await delivered
    },
    async stream(count, readers) {
      const own = `${key}:${++streams}`
      const writing = await createRedisBus({ client, key: own, ttlMs: 60_000 })
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
    close: () => Promise.all([bus.close(), other.close()]),
  }
}
