import { createClient } from 'redis'
import { afterAll } from 'vitest'
import { createRedisBus } from '../../src/redis/index.ts'
import { describeBus } from './suite.ts'

const client = createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
await client.connect()
afterAll(() => client.destroy())

let logs = 0

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
