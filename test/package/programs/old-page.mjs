import * as root from 'resumable-bus'
import * as lastEventId from 'resumable-bus/last-event-id'
import * as sse from 'resumable-bus/sse'
import * as web from 'resumable-bus/web'
import { scenario } from './scenario.mjs'

globalThis.finished = scenario({ root, sse, lastEventId, web })
