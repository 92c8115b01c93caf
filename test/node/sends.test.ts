import { once } from 'node:events'
import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sseTransport as nodeTransport } from '../../src/node/index.ts'
import { serve } from '../support/http-server.ts'
import { fakeClock } from '../support/http-surfaces.ts'
import { settle, until, within } from '../support/until.ts'

const message = 'x'.repeat(16_000)

describe('sends that nobody waits for', () => {
  const overHttp2 = async (stallTimeoutMs: number) => {
    let transport: ReturnType<typeof nodeTransport> | undefined
    const server = await serve(
      (req, res) => {
        transport = nodeTransport(req, res, { heartbeatMs: 0, stallTimeoutMs })
        return transport.closed
      },
      { http2: true },
    )
    const client = connect(`http://127.0.0.1:${server.port}`)
    client.on('error', () => {})
    onTestFinished(() => client.destroy())
    const stream = client.request({ ':path': '/' })
    // Nothing is read but by `read`.
    stream.on('readable', () => {})
    stream.on('error', () => {})
    await once(stream, 'response')
    const open = transport as unknown as ReturnType<typeof nodeTransport>
    const outcomes: string[] = []
    const sendAll = (count: number) => {
      for (let n = 0; n < count; n++) {
        const sent = open.send(message) as Promise<void>
        sent.then(
          () => outcomes.push('taken'),
          () => outcomes.push('refused'),
        )
      }
    }
    return { transport: open, stream, outcomes, sendAll }
  }

  it('are no stall to a client of HTTP/2 that reads slowly', async () => {
    const clock = fakeClock()
    const { transport, stream, outcomes, sendAll } = await overHttp2(1000)
    sendAll(30)
    let got = 0
    while (got < 30 * message.length && !stream.closed) {
      await until(() => stream.readableLength > 0 || stream.closed || stream.destroyed)
      got += (stream.read() as Buffer | null)?.length ?? 0
      await settle()
      await clock.pass(400)
    }
    expect(transport.isClosed).toBe(false)
    expect(outcomes).not.toContain('refused')
    transport.close()
    stream.resume()
    await within(transport.closed, '`closed`')
  })

  it('are given to a client of HTTP/2 that reads slowly behind a close, too', async () => {
    const clock = fakeClock()
    const { transport, stream, outcomes, sendAll } = await overHttp2(0)
    sendAll(30)
    transport.close()
    let got = 0
    while (got < 30 * message.length && !stream.closed) {
      await until(() => stream.readableLength > 0 || stream.closed || stream.destroyed)
      got += (stream.read() as Buffer | null)?.length ?? 0
      await settle()
      await clock.pass(250)
    }
    stream.resume()
    await within(transport.closed, '`closed`')
    expect(outcomes).not.toContain('refused')
  })
})
