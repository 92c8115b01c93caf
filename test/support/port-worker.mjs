/**
 * The other end of a bridge: subscribes by the patterns that it was given, and tells its parent what it gets.
 * `never reads` subscribes and is then busy for ever; `dies` ends in the middle, after so many messages.
 */
import { parentPort, workerData } from 'node:worker_threads'

const { port, patterns, last, neverReads, diesAfter } = workerData
const got = []

patterns.forEach((pattern, id) => {
  port.postMessage({ op: 'subscribe', id, ...pattern })
})

if (neverReads) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

port.on('message', (message) => {
  got.push(message)
  if (got.length === diesAfter) process.exit()
  if (message.data === last) parentPort.postMessage(got)
})
