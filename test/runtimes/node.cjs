const entries = {
  root: require('resumable-bus'),
  sse: require('resumable-bus/sse'),
  lastEventId: require('resumable-bus/last-event-id'),
  web: require('resumable-bus/web'),
  node: require('resumable-bus/node'),
}

async function main() {
  const { nodeServers } = await import('./node-server.mjs')
  const { scenario } = await import('./scenario.mjs')
  console.log(JSON.stringify({ scenario: await scenario(entries), servers: await nodeServers(entries) }))
}

main()
