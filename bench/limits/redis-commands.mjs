/** The bare commands: `XADD`, and one reader that blocks in `XREAD`. */
import { createClient } from 'redis'
import { startEcho } from '../fixtures/redis.mjs'
import { JSON_OF_INPUT } from '../fixtures/redis-events.mjs'

const RING = '8000'

/** `write` appends to a stream, `read` waits for what is behind the last id read. */
export async function commands(url, writeKey, readKey) {
  const writer = await createClient({ url }).connect()
  const reader = await writer.duplicate().connect()
  let last = 0
  return {
    writer,
    write: () => writer.sendCommand(['XADD', writeKey, 'MAXLEN', RING, '0-*', 'event', JSON_OF_INPUT]),
    async read() {
      const from = ['STREAMS', readKey, `0-${last}`]
      const reply = await reader.sendCommand(['XREAD', 'COUNT', '1000', 'BLOCK', '20000', ...from])
      const [entries] = Array.isArray(reply) ? reply.map(([, list]) => list) : Object.values(reply)
      for (const [id] of entries) if (id !== `0-${++last}`) throw new Error(`expected ${last}, got ${id}`)
    },
  }
}

export async function open(url, key) {
  const own = await commands(url, key, key)
  const there = await commands(url, `${key}:there`, `${key}:back`)
  for (const one of [key, `${key}:there`, `${key}:back`]) {
    await own.writer.del(one)
    // What a run leaves behind goes by itself.
    await own.writer.xGroupCreate(one, 'none', '0', { MKSTREAM: true })
    await own.writer.pExpire(one, 600_000)
  }

  return {
    publish: own.write,
    async deliver() {
      const delivered = own.read()
      void own.write()
      await delivered
    },
    startEcho: () => startEcho(new URL('./redis-echo.mjs', import.meta.url), key),
    async roundTrip() {
      const answered = there.read()
      void there.write()
      await answered
    },
  }
}
