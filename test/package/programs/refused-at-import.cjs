const { refuseHostCalls } = require('./refuse.cjs')

const refusal = refuseHostCalls()
for (const entry of process.argv.slice(2)) require(`resumable-bus${entry}`)
refusal.restore()

const { EventBus } = require('resumable-bus')
const bus = new EventBus()
console.log(JSON.stringify({ called: refusal.called, built: bus.publish({ type: 'first' }).id === 1 }))
