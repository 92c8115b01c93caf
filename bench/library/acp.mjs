/** The bridge as a server, with all its defaults: a ring, ids, heartbeats, stall watch. */
import { createAcpBridge } from '../../dist/acp.js'
import { toNodeHandler } from '../../dist/node.js'

export function create(createAgent) {
  const bridge = createAcpBridge({
    connectAgent() {
      const toAgent = channel()
      const fromAgent = channel()
      createAgent().connect({ readable: toAgent.readable, writable: fromAgent.writable })
      return { readable: fromAgent.readable, writable: toAgent.writable }
    },
  })
  return toNodeHandler(bridge.handleRequest)
}

/** As cheap as the one that `AcpServer` has inside: a `TransformStream` would be in the bridge's figure and not in its. */
function channel() {
  let controller
  let resume
  return {
    readable: new ReadableStream(
      {
        start(own) {
          controller = own
        },
        pull() {
          resume?.()
          resume = undefined
        },
      },
      { highWaterMark: 0 },
    ),
    writable: new WritableStream({
      write(message) {
        controller.enqueue(message)
        if (controller.desiredSize >= 0) return undefined
        return new Promise((resolve) => {
          resume = resolve
        })
      },
      close: () => controller.close(),
    }),
  }
}
