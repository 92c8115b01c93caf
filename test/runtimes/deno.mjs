import { createRequire } from 'node:module'
import * as root from 'resumable-bus'
import * as lastEventId from 'resumable-bus/last-event-id'
import * as sse from 'resumable-bus/sse'
import * as web from 'resumable-bus/web'
import { overHttp } from './over-http.mjs'
import { busOfFive, scenario } from './scenario.mjs'

const require = createRequire(import.meta.url)
const required = {
  root: require('resumable-bus'),
  sse: require('resumable-bus/sse'),
  lastEventId: require('resumable-bus/last-event-id'),
  web: require('resumable-bus/web'),
}

const ended = busOfFive(root.EventBus)
const live = busOfFive(root.EventBus)
ended.end()
const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, (request) =>
  web.sseResponse(request.url.endsWith('/ended') ? ended : live, request),
)
const served = await overHttp(`http://127.0.0.1:${server.addr.port}`, {
  publish: () => live.publish({ type: 'tick', data: 6 }),
  subscriberCount: () => live.subscriberCount,
})
await server.shutdown()

const imported = await scenario({ root, sse, lastEventId, web })
console.log(JSON.stringify({ scenario: imported, required: await scenario(required), servers: { served } }))
