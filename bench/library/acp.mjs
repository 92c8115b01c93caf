/** The bridge as a server, with all its defaults: a ring, ids, heartbeats, stall watch. */
import { createAcpBridge } from '../../dist/acp.js'
import { toNodeHandler } from '../../dist/node.js'

export function create(createAgent) {
  const bridge = createAcpBridge({
    connectAgent() {
      const toAgent = new TransformStream()
      const fromAgent = new TransformStream()
      createAgent().connect({ readable: toAgent.readable, writable: fromAgent.writable })
      return { readable: fromAgent.readable, writable: toAgent.writable }
    },
  })
  return toNodeHandler(bridge.handleRequest)
}
