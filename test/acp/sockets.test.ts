import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client'
import { describe, expect, it } from 'vitest'
import { toNodeHandler } from '../../src/node/index.ts'
import type { Message } from '../support/acp-agent.ts'
import { scene } from '../support/acp-bridge.ts'
import { serve, spyOnWrites } from '../support/http-server.ts'
import { fakeClock } from '../support/http-surfaces.ts'
import { until } from '../support/until.ts'

const isAnswer = (to: unknown) => (message: Message) => message.method === undefined && message.id === to

describe('a client that had stopped reading and resets', () => {
  it('gets the answer that had been written to its socket as it resumes', async () => {
    const { bridge, initialize } = scene()
    const line = await initialize()
    const { session, stream } = await line.begin()
    stream.cut()
    await line.post({ id: 1, method: 'session/prompt', params: { sessionId: session } })
    const server = await serve(toNodeHandler(bridge.handleRequest))
    const client = await server.open({
      headers: {
        accept: 'text/event-stream',
        'acp-connection-id': line.id,
        'acp-session-id': session,
        'last-event-id': '0',
      },
    })
    line.agent.chunk(session, 'read')
    await until(() => client.transcript.cursor?.endsWith(':1') === true)
    client.stopReading()
    const { res } = await server.exchange()
    const writes = spyOnWrites(res)
    line.agent.chunk(session, 'not read')
    line.agent.answer({ id: 1 }, { stopReason: 'end_turn' })
    // The fence behind it says that its write had succeeded.
    await until(() => writes.join('').includes(':3\nevent: cursor'))
    client.socket.resetAndDestroy()
    const again = await line.get(session, client.transcript.cursor)
    await again.until(({ messages }) => messages.some(isAnswer(1)))
    expect(again.heard).toEqual(['2 session/update', ': replay_complete', 'answer 1'])
  })
})

/** The official client, whose session streams can be ended as a proxy ends idle ones: behind all that came. */
async function official() {
  const found = scene()
  const ends: (() => void)[] = []
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const response = await found.bridge.handleRequest(new Request(url as string, init))
    const isSession = new Headers(init.headers).has('acp-session-id')
    if (init.method !== 'GET' || !isSession || !response.body) return response
    const reader = response.body.getReader()
    ends.push(() => void reader.cancel())
    const body = new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, response)
  }
  const stream = createHttpStream('http://host/acp', { fetch: fetch as typeof globalThis.fetch })
  const writer = stream.writable.getWriter()
  const read: Message[] = []
  const reader = stream.readable.getReader()
  void (async () => {
    for (let one = await reader.read(); !one.done; one = await reader.read()) read.push(one.value)
  })()
  const say = (message: Message) => writer.write({ jsonrpc: '2.0', ...message })
  await say({ id: 0, method: 'initialize', params: { protocolVersion: 1 } })
  await say({ id: 1, method: 'session/new', params: {} })
  await until(() => ends.length === 1)
  return { found, read, say, ends, agent: found.agents[0], close: () => writer.close() }
}

describe('the official client under clean ends of its session stream', () => {
  it('loses nothing that it can take: the next GET goes on behind what it was sent', async () => {
    const { found, read, say, ends, agent, close } = await official()
    const texts = () => read.flatMap(({ params }) => params?.update?.content?.text ?? [])
    const expected: string[] = []
    for (let round = 1; round <= 5; round++) {
      for (const word of ['open', 'shut']) {
        expected.push(`${word} ${round}`)
        agent?.chunk('s1', `${word} ${round}`)
        if (word === 'shut') continue
        await until(() => texts().length === expected.length)
        ends.at(-1)?.()
        await until(() => found.bridge.stats().streams === 1)
      }
      // It asks for the stream again as it has something to say.
      await say({ method: 'session/cancel', params: { sessionId: 's1' } })
      await until(() => texts().length === expected.length)
    }
    expect(texts()).toEqual(expected)
    expect(ends).toHaveLength(6)
    await close()
  })
})

describe('a stream', () => {
  it('is kept alive by comments while nothing is said', async () => {
    const clock = fakeClock()
    const { get } = await scene({ heartbeatMs: 1000 }).initialize()
    const own = await get()
    await clock.pass(3500)
    await until(() => own.said.filter((one) => one === ': heartbeat').length === 3)
    expect(own.messages).toEqual([])
  })
})
