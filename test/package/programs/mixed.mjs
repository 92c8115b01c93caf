/** The bus of one module format in the adapters of the other: two copies of every class, as in a half-migrated program. */

import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { nodeServers } from './node-server.mjs'
import { busOfFive, scenario } from './scenario.mjs'

const require = createRequire(import.meta.url)
const ENTRIES = { root: '', sse: '/sse', lastEventId: '/last-event-id', web: '/web', node: '/node' }
const esm = {}
const cjs = {}
for (const [name, entry] of Object.entries(ENTRIES)) {
  esm[name] = await import(`resumable-bus${entry}`)
  cjs[name] = require(`resumable-bus${entry}`)
}

console.log(
  JSON.stringify({
    apart: esm.root.EventBus !== cjs.root.EventBus,
    esmBusInCjs: await mixed(esm, cjs),
    cjsBusInEsm: await mixed(cjs, esm),
  }),
)

async function mixed(of, adapters) {
  return {
    scenario: await scenario({ ...adapters, root: of.root }),
    servers: await nodeServers({ ...adapters, root: of.root }),
    limit: await limit(of, adapters),
    serialised: await serialised(of, adapters, {}),
    serialisedWithByteCap: await serialised(of, adapters, { maxRingBytes: 10_000 }),
    control: of.root.isControlFrame({ v: 1, type: 'replay_complete', data: {} }),
  }
}

async function limit(of, { root, web }) {
  const bus = new of.root.EventBus({ maxSubscribers: 1 })
  bus.subscribe()
  const told = await web.sseResponse(bus, new Request('http://localhost/')).text()
  const refused = web.sseResponse(bus, new Request('http://localhost/'), { onLimit: 'status' })
  try {
    bus.subscribe()
  } catch (error) {
    const foreign = !(error instanceof root.SubscriberLimitExceededError)
    return {
      foreign,
      code: error.code,
      limit: error.limit,
      told: told.includes('"code":"subscriber_limit_exceeded"'),
      status: refused.status,
    }
  }
}

/** How often the data of an event was turned into JSON for five clients, and whether it is the data of then. */
async function serialised(of, { web, node }, options) {
  const bus = busOfFive(
    class extends of.root.EventBus {
      constructor(given) {
        super({ ...given, ...options })
      }
    },
  )
  let count = 0
  const data = {
    word: 'then',
    toJSON() {
      count++
      return { word: this.word }
    },
  }
  bus.publish({ type: 'counted', data })
  if (options.maxRingBytes !== undefined) data.word = 'now'
  bus.end()

  const texts = []
  for (let client = 0; client < 3; client++) {
    texts.push(await web.sseResponse(bus, new Request('http://localhost/?lastEventId=e:5')).text())
  }
  const server = createServer((req, res) => void node.serveSse(bus, req, res))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  for (let client = 0; client < 2; client++) {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/?lastEventId=e:5`)
    texts.push(await response.text())
  }
  bus.close()
  server.close()
  return { count, asPublished: texts.every((text) => text.includes('"data":{"word":"then"}')) }
}
