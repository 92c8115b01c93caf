/** A bus of one format under the router of the other: what each handler got, and what of the index is left. */
import { createRequire } from 'node:module'
import * as esm from 'resumable-bus'
import * as esmRouter from 'resumable-bus/router'

const require = createRequire(import.meta.url)
const cjs = require('resumable-bus')
const cjsRouter = require('resumable-bus/router')

async function route({ EventBus }, routers) {
  const bus = new EventBus()
  const got = []
  const handles = routers.map(({ subscribe }, at) =>
    subscribe(bus, { type: 'a.*' }, ({ id }) => {
      got.push(`${at}:${id}`)
    }),
  )
  const [{ AwaitService }] = routers
  const replies = new AwaitService(bus)
  const reply = replies.await({ type: 'a.accepted', timeoutMs: 1000 })
  for (const type of ['a.x', 'b.x', 'a.accepted']) bus.publish({ type })
  const { accepted } = await reply
  await new Promise((resolve) => setTimeout(resolve, 5))
  const timeout = await replies.await({ type: 'none', timeoutMs: 1 }).catch(({ code }) => code)
  for (const { close } of handles) await close()
  return { got: got.sort(), accepted, timeout, left: bus.subscriberCount }
}

console.log(
  JSON.stringify({
    esmBus: await route(esm, [cjsRouter, esmRouter]),
    cjsBus: await route(cjs, [esmRouter, cjsRouter]),
  }),
)
