import * as root from 'resumable-bus'
import * as lastEventId from 'resumable-bus/last-event-id'
import * as node from 'resumable-bus/node'
import * as sse from 'resumable-bus/sse'
import * as web from 'resumable-bus/web'
import { nodeServers } from './node-server.mjs'
import { scenario } from './scenario.mjs'

const entries = { root, sse, lastEventId, web, node }
console.log(JSON.stringify({ scenario: await scenario(entries), servers: await nodeServers(entries) }))
