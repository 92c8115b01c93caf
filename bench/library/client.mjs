/** The library as a reader, with its defaults and a `fetch` that answers out of memory: once, and then that there is no more. */
import { connectBus } from '../../dist/client.js'

export function create() {
  return {
    async read(response, see) {
      const answers = [response, new Response(null, { status: 204 })]
      const fetch = async () => answers.shift()
      for await (const frame of connectBus('http://host/', { fetch, retryMs: 0 })) see(frame)
    },
  }
}
