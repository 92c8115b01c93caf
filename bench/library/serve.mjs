/** The library as a server, with all its defaults: heartbeats, stall watch, cursors with an epoch. */
import { EventBus } from '../../dist/index.js'
import { serveSse } from '../../dist/node.js'
import { byteCaps } from './byte-caps.mjs'

export function create({ epoch, data, caps = false }) {
  const bus = new EventBus({ epoch, ...(caps && byteCaps) })

  return {
    handle: (req, res) => serveSse(bus, req, res),
    prebuild() {},
    publish: () => bus.publish({ type: 'tick', data }),
  }
}
