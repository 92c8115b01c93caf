/** `npm start`: installs and builds where that is due, then serves the demo. */
import { setUp } from '../shared/set-up.mjs'

await setUp('resumable-bus, live')
const { main } = await import('./server.mjs')
await main()
