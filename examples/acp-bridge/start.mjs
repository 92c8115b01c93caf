/**
 * `npm run acp`: installs and builds where that is due, then serves the page with the agent of this folder.
 * `npm run acp -- my-agent --flag`: with any other agent that speaks ACP over its standard streams.
 */
import { fileURLToPath } from 'node:url'
import { setUp } from '../shared/set-up.mjs'

const OWN_AGENT = [process.execPath, fileURLToPath(new URL('agent.mjs', import.meta.url))]
const given = process.argv.slice(2)

await setUp('resumable-bus, ACP over HTTP')
const { main } = await import('./server.mjs')
if (given.length > 0) await main(given, given.map(quoted).join(' '))
else await main(OWN_AGENT, 'the one of this example')

/** As a person would type it. */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)
}
