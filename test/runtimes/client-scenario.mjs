/**
 * One pass through the client against the server of `client-server.ts`, with nothing but the built package and the host's
 * own `fetch`. It returns plain values, the same ones on every runtime: `client-expected.ts` has them, from the contract.
 */

/** `key` keeps apart what several runtimes do at the server. */
export async function clientScenario(client, origin, key) {
  const at = (path) => `${origin}/${key}/${path}`
  return {
    cut: await cut(client, at),
    restarted: await restarted(client, at),
    authorised: await authorised(client, at),
    refused: await refused(client, at),
    silent: await silent(client, at),
    left: await left(client, at),
  }
}

/** An event is its id and its data, any other frame its type. */
const notation = ({ id, type, data }) => (id === undefined ? type : `${id} ${data}`)

async function cut({ connectBus }, at) {
  const frames = []
  let retries = 0
  const options = { lastEventId: 'a:0', retryMs: 1, onRetry: () => retries++ }
  const stream = connectBus(at('cut'), options)
  for await (const frame of stream) frames.push(notation(frame))
  // How often differs: some hosts drop what came right before a reset.
  return { frames, retried: retries >= 4, cursor: stream.cursor, readyState: stream.readyState }
}

/** The second connection meets another bus; the gate holds its events until the state was loaded from it. */
async function restarted({ connectBus, createResyncGate }, at) {
  const frames = []
  let state = { cursor: 'a:0', total: 0 }
  const gate = createResyncGate({
    onResync: async () => {
      state = await (await fetch(at('state'))).json()
      return state.cursor
    },
  })
  for await (const frame of gate.through(
    connectBus(at('restarted'), { lastEventId: state.cursor, retryMs: 1 }),
  )) {
    frames.push(notation(frame))
    if (frame.type === 'paid') state.total += frame.data
  }
  return { frames, total: state.total }
}

/** The server tells what it was sent; the second time on another connection. */
async function authorised({ connectSse }, at) {
  const told = []
  const headers = { Authorization: 'Bearer t', 'LAST-event-ID': 'own' }
  for await (const block of connectSse(at('echo'), { method: 'POST', headers, body: 'grüße 😀' })) {
    told.push({ ...block, data: JSON.parse(block.data) })
    if (told.length === 2) break
  }
  return told
}

async function refused({ connectSse }, at) {
  try {
    for await (const _ of connectSse(at('refused'))) return 'not refused'
    return 'done'
  } catch ({ name, code, status, body }) {
    return { name, code, status, body }
  }
}

/** A connection that falls silent is given up; the next one is told that there is no more. */
async function silent({ connectBus }, at) {
  const frames = []
  for await (const frame of connectBus(at('silent'), {
    lastEventId: 'a:0',
    retryMs: 1,
    idleTimeoutMs: 100,
  })) {
    frames.push(notation(frame))
  }
  return frames
}

async function left({ connectBus }, at) {
  const open = async () => (await fetch(at('open'))).json()
  let during
  for await (const frame of connectBus(at('live'), {
    onOpen: () => fetch(at('publish'), { method: 'POST' }),
  })) {
    during = { frame: notation(frame), open: await open() }
    break
  }
  const deadline = Date.now() + 10_000
  while ((await open()) !== 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20))
  return { during, after: await open() }
}
