/** Answers each event of a bus with one of its own. */
import { createClient } from 'redis'
import { createRedisBus } from '../../dist/redis.js'
import { INPUT } from '../fixtures/redis-events.mjs'

process.on('disconnect', () => process.exit())
const [url, key] = process.argv.slice(2)
const bus = await createRedisBus({ client: createClient({ url }), key })
const events = bus.subscribe()
process.send('ready')
for await (const { type } of events) if (type === INPUT.type) void bus.publish({ ...INPUT, type: 'answer' })
