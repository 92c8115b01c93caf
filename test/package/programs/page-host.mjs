/**
 * A realm with no more than a browser's page on plain http has: no `process`, no `Buffer`, timers that are numbers
 * without `unref`, `crypto` without `randomUUID`.
 */

import { readFileSync } from 'node:fs'
import vm from 'node:vm'

const timers = new Map()
let count = 0

function numbered(start, stop) {
  return [
    (...args) => {
      timers.set(++count, start(...args))
      return count
    },
    (id) => {
      stop(timers.get(id))
      timers.delete(id)
    },
  ]
}

const [setTimeoutNumber, clearTimeoutNumber] = numbered(setTimeout, clearTimeout)
const [setIntervalNumber, clearIntervalNumber] = numbered(setInterval, clearInterval)

const page = vm.createContext({
  AbortController,
  AbortSignal,
  DOMException,
  Event,
  EventTarget,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  TransformStream,
  URL,
  URLSearchParams,
  clearInterval: clearIntervalNumber,
  clearTimeout: clearTimeoutNumber,
  crypto: { getRandomValues: (array) => crypto.getRandomValues(array) },
  performance,
  queueMicrotask,
  setInterval: setIntervalNumber,
  setTimeout: setTimeoutNumber,
})

vm.runInContext(readFileSync(process.argv[2], 'utf8'), page)
const scenario = await page.finished
console.log(JSON.stringify({ scenario, timers: count }))
