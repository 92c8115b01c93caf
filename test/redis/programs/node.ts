/** One node behind a load balancer: a bus on Redis, served over HTTP, that publishes what its parent asks for. */

import { createServer } from 'node:http'
import { createClient } from 'redis'
import { serveSse } from '../../../src/node/index.ts'
import { createRedisBus } from '../../../src/redis/index.ts'

const [url = '', key = '', name = ''] = process.argv.slice(2)

/** Published at a time, without waiting for one another. */
const BURST = 20

async function main(): Promise<void> {
  const bus = await createRedisBus({ client: createClient({ url }), key, ringSize: 50_000 })
  const server = createServer((req, res) => void serveSse(bus, req, res, { retryMs: 0 }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  let said = 0

  process.on('message', async (asked: { publish: number } | 'end') => {
    if (asked === 'end') {
      await bus.close({ drain: false })
      server.closeAllConnections()
      server.close()
      // Nothing else may keep it alive.
      process.disconnect()
      return
    }
    let last = 0
    for (let left = asked.publish; left > 0; left -= BURST) {
      const burst = Array.from({ length: Math.min(left, BURST) }, () =>
        bus.publish({ type: 'said', data: { by: name, n: ++said } }),
      )
      for (const event of await Promise.all(burst)) last = event?.id ?? last
    }
    process.send?.({ published: last })
  })
  process.send?.({ port: (server.address() as { port: number }).port, epoch: bus.epoch })
}

void main()
