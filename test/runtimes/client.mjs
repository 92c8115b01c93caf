import * as client from 'resumable-bus/client'
import { clientScenario } from './client-scenario.mjs'

const [origin, key] = globalThis.Deno?.args ?? process.argv.slice(2)
console.log(JSON.stringify(await clientScenario(client, origin, key)))
