/**
 * The contract of an event bus, over any backend: `describeBus('my bus', { supports, open })` in a test file declares every
 * test. Calls that may be asynchronous are awaited, frames too, whatever time they take; there is no clock in it.
 *
 * What a backend must give: after `await publish(x)` on a node, that node's `lastEventId` is at least `x.id`, who was
 * subscribed there has x queued (or is evicted), and who subscribes there without a cursor does not get it; after
 * `await end()` that node has `ended`. Values of `data` have been through JSON or not, bytes are those of the envelope's JSON.
 *
 * Left to the tests of the in-memory bus: the rows with `startAfterId` and all that is about a given `epoch`, since where
 * ids begin and what names them belongs to the log of a backend; identity of events; timers; and that a pending read settles
 * within so many microtasks.
 */

import { afterEach, describe } from 'vitest'
import { backpressure } from './backpressure.ts'
import { bytes } from './bytes.ts'
import { closing } from './closing.ts'
import { conservation } from './conservation.ts'
import { ending } from './ending.ts'
import { envelopes } from './envelopes.ts'
import { filters } from './filters.ts'
import { nodes } from './nodes.ts'
import { options } from './options.ts'
import { publishing } from './publishing.ts'
import { reading } from './reading.ts'
import { resuming } from './resuming.ts'
import { stats } from './stats.ts'
import { warnings } from './warnings.ts'
import { type Backend, type Opened, type OpenOptions, publish, type World } from './world.ts'

export type { Backend, ConformingBus, Opened, OpenOptions, Trait } from './world.ts'

const parts = {
  publishing,
  envelopes,
  resuming,
  filters,
  warnings,
  backpressure,
  bytes,
  ending,
  closing,
  reading,
  stats,
  options,
  conservation,
}

export function describeBus(name: string, backend: Backend): void {
  describe(name, () => {
    const opened = new Set<Opened>()
    afterEach(async () => {
      for (const one of opened) await one.close()
    })

    const open = async (options: OpenOptions = {}) => {
      const backing = await backend.open(options)
      const one: Opened = {
        ...backing,
        close: async () => {
          if (opened.delete(one)) await backing.close()
        },
      }
      opened.add(one)
      return one
    }
    const world: World = {
      has: (trait) => backend.supports.includes(trait),
      open,
      busWith: async (count, options) => {
        const { bus } = await open(options)
        await publish(bus, count)
        return bus
      },
    }
    const all = world.has('several nodes') ? { ...parts, nodes } : parts
    for (const [title, part] of Object.entries(all)) describe(title, () => part(world))
  })
}
