/** The same two buses behind `node:http`, by way of `./node` alone and by way of `./web`. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { overHttp } from './over-http.mjs'
import { busOfFive } from './scenario.mjs'

export async function nodeServers({ root, web, node }) {
  return {
    serveSse: await served(root, (bus) => (req, res) => void node.serveSse(bus, req, res)),
    toNodeHandler: await served(root, (bus) =>
      node.toNodeHandler((request) => web.sseResponse(bus, request)),
    ),
  }
}

async function served({ EventBus }, handlerFor) {
  const ended = busOfFive(EventBus)
  const live = busOfFive(EventBus)
  ended.end()
  const handlers = { '/ended': handlerFor(ended), '/live': handlerFor(live) }
  const open = new Set()
  const server = createServer((req, res) => {
    open.add(res)
    res.once('close', () => open.delete(res))
    handlers[req.url](req, res)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const seen = await overHttp(`http://127.0.0.1:${server.address().port}`, {
    publish: () => live.publish({ type: 'tick', data: 6 }),
    subscriberCount: () => live.subscriberCount,
  })
  live.close()
  ended.close()
  await Promise.all([...open].map((res) => once(res, 'close')))
  // What is left are spare connections of the client, which Node's server waits for.
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  return seen
}
