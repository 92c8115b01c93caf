/** The official SDK's server as its pages show it, behind its own handler for Node. */
import { createNodeHttpHandler } from '@agentclientprotocol/sdk/experimental/node'
import { AcpServer } from '@agentclientprotocol/sdk/experimental/server'

export function create(createAgent) {
  return createNodeHttpHandler(new AcpServer({ createAgent }))
}
