/** Opens as many buses as it is told, says what came of it, closes them, and must end by itself. */

import { createClient } from 'redis'
import { createRedisBus } from '../../../src/redis/index.ts'

const [url = '', count = '1'] = process.argv.slice(2)

async function main(): Promise<void> {
  const client = createClient({ url })
  const open = (at: number) => createRedisBus({ client, key: `bus:${at}`, timeoutMs: 500 })
  try {
    const buses = await Promise.all(Array.from({ length: Number(count) }, (_, at) => open(at)))
    await Promise.all(buses.map((bus) => bus.publish({ type: 'hello' })))
    await new Promise((resolve) => process.send?.({ open: buses.length }, resolve))
    await new Promise((resolve) => process.once('message', resolve))
    await Promise.all(buses.map((bus) => bus.close()))
    await new Promise((resolve) => process.send?.('closed', resolve))
  } catch (error) {
    process.send?.({ code: (error as { code?: string }).code })
  }
  process.disconnect()
}

void main()
