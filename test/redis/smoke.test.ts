import { createClient } from 'redis'
import { expect, test } from 'vitest'
import { createRedisBus } from '../../src/redis/index.ts'

test('smoke', async () => {
  const client = await createClient().connect()
  const key = `t:${Math.random()}`
  const reports: unknown[] = []
  const a = await createRedisBus({ client, key, ringSize: 3, onDiagnostic: (d) => reports.push(d) })
  const live = a.subscribe()
  for (let i = 1; i <= 5; i++) expect((await a.publish({ type: 'x', data: i }))?.id).toBe(i)
  expect(a.lastEventId).toBe(5)
  for (let i = 1; i <= 5; i++) expect((await live.next()).value).toMatchObject({ id: i, data: i })
  const r = a.subscribe({ lastEventId: 1 })
  for (let i = 0; i < 5; i++) console.log((await r.next()).value)
  const b = await createRedisBus({ client, key, ringSize: 3 })
  expect(b.lastEventId).toBe(5)
  const s = b.subscribe({ lastEventId: 2 })
  const all = Promise.all(Array.from({ length: 1000 }, (_, i) => a.publish({ type: 'y', data: i })))
  for (let i = 3; i <= 5; i++) expect((await s.next()).value).toMatchObject({ id: i })
  console.log((await s.next()).value, (await all).length)
  console.log((await s.batches().next()).value?.length, b.lastEventId)
  await a.end()
  console.log(a.ended, b.ended, await a.publish({ type: 'x' }))
  for await (const f of s) void f
  console.log(b.ended, reports, b.stats())
  await a.close(); await b.close()
  await client.del(key)
  client.destroy()
})
