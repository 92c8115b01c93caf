/** Ends a bus and closes it at once, says what came of both, and must end by itself. */

import { createClient } from 'redis'
import { createRedisBus } from '../../../src/redis/index.ts'

async function main(): Promise<void> {
  const bus = await createRedisBus({ client: createClient({ url: `${process.argv[2]}` }), key: 'bus' })
  const event = bus.publish({ type: 'last words' })
  const end = bus.end()
  const closed = bus.close()
  const said = [(await event)?.id, await end.then(() => 'ended'), await closed.then(() => 'closed')]
  await new Promise((resolve) => process.send?.(said, resolve))
  process.disconnect()
}

void main()
