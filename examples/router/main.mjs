/** `node examples/router/main.mjs`, after `npm run build`: two jobs side by side, one of them cancelled, one refused. */
import { setTimeout } from 'node:timers/promises'
import { EventBus } from 'resumable-bus'
import { subscribe } from 'resumable-bus/router'
import { JobClient, startWorker } from './jobs.mjs'

const bus = new EventBus()
const worker = startWorker(bus, {
  fetch: () => setTimeout(20),
  parse: () => setTimeout(20),
  store: () => setTimeout(20),
})
const jobs = new JobClient(bus)

// An audit of every command, whatever it is; it delays nobody, and nobody has to know of it.
const audit = subscribe(bus, { system: 'jobs', type: 'commands.**' }, ({ type, path }) => {
  console.log(`audit    ${type} ${path}`)
})
const show = ({ type, path, data }) => {
  console.log(`${path}    ${type}${type === 'progress' ? ` ${data.done}/${data.of} ${data.step}` : ''}`)
}

const first = await jobs.start(['fetch', 'parse', 'store'], show)
const second = await jobs.start(['fetch', 'parse', 'store'], show)
await jobs.command('cancel', second)
await jobs.start(['fetch', 'guess'], show).catch((error) => console.log(`refused  ${error.message}`))

console.log(`${first}    ended`, await jobs.finished(first))
console.log(`${second}    ended`, await jobs.finished(second))
await jobs.command('cancel', second).catch((error) => console.log(`refused  ${error.message}`))

jobs.stop()
await Promise.all([worker.stop(), audit.close()])
console.log(`left     ${bus.subscriberCount} subscribers`)
