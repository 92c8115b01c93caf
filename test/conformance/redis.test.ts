import { createClient } from 'redis'
import { afterAll, beforeAll, describe } from 'vitest'
import { createRedisBus } from '../../src/redis/index.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { describeBus } from './suite.ts'

/** Of a server that runs already; else one is started. */
const { REDIS_URL } = process.env

const describeHere = REDIS_URL === undefined ? describeOnRedis : describe

describeHere('Redis', () => {
  let server: RedisServer | undefined
  let client: ReturnType<typeof createClient>
  let logs = 0

  beforeAll(async () => {
    if (REDIS_URL === undefined) server = await RedisServer.startForFile()
    client = createClient({ url: server?.url ?? `${REDIS_URL}` })
    await client.connect()
  })

  afterAll(async () => {
    client.destroy()
    await server?.end()
  })

  describeBus('the bus on Redis', {
    supports: ['ring figures', 'several nodes'],
    open: async (options) => {
      const key = `resumable-bus:conformance:${process.pid}:${++logs}`
      const buses = [await createRedisBus({ client, key, ...options })] as const
      const nodes = [...buses]
      return {
        bus: buses[0],
        another: async () => {
          const node = await createRedisBus({ client, key, ...options })
          nodes.push(node)
          return node
        },
        close: async () => {
          await Promise.all(nodes.map((node) => node.close({ drain: false })))
          await client.del(key)
        },
      }
    },
  })
})
