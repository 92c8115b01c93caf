import * as root from 'resumable-bus'
import * as sse from 'resumable-bus/sse'
import * as web from 'resumable-bus/web'
import { shared } from './shared-check.mjs'

console.log(JSON.stringify(await shared(root, sse, web)))
