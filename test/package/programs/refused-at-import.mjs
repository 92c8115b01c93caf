import { refuseHostCalls } from './refuse.cjs'

const refusal = refuseHostCalls()
for (const entry of process.argv.slice(2)) await import(`resumable-bus${entry}`)
refusal.restore()

const { EventBus } = await import('resumable-bus')
const bus = new EventBus()
console.log(JSON.stringify({ called: refusal.called, built: bus.publish({ type: 'first' }).id === 1 }))
