import * as root from 'resumable-bus'
import * as lastEventId from 'resumable-bus/last-event-id'
import * as sse from 'resumable-bus/sse'
import * as web from 'resumable-bus/web'
import { scenario } from './scenario.mjs'
import { shared } from './shared-check.mjs'

const entries = { root, sse, lastEventId, web }
console.log(JSON.stringify({ scenario: await scenario(entries), shared: await shared(root, sse, web) }))
