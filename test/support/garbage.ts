/** What is still reachable, judged by the collector itself. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Collects everything that can be collected. A `WeakRef` pins its target until the current job is over. */
export async function collect(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    gc()
  }
}

/** A payload that nobody but the bus holds, and the means to see whether it does. */
export class Watched {
  readonly #references: WeakRef<object>[] = []

  /** A new payload of about `bytes` bytes of JSON. */
  payload(bytes = 10): object {
    const payload = { text: 'x'.repeat(bytes) }
    this.#references.push(new WeakRef(payload))
    return payload
  }

  /** Collects, then tells the indices (from 0, in order of making) of the payloads that are still reachable. */
  async alive(): Promise<number[]> {
    await collect()
    return this.#references.flatMap((reference, index) => (reference.deref() === undefined ? [] : [index]))
  }
}
