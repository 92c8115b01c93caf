import { once } from 'node:events'
import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeClock, serveTransports } from '../support/http-surfaces.ts'
import { settle, until, within } from '../support/until.ts'

const MESSAGES = 30
const message = 'x'.repeat(16_000)

describe('sends that nobody waits for', () => {
  const overHttp2 = async (stallTimeoutMs: number) => {
    const clock = fakeClock()
    const served = await serveTransports({ heartbeatMs: 0, stallTimeoutMs }, true)
    const client = connect(`http://127.0.0.1:${served.server.port}`)
    client.on('error', () => {})
    onTestFinished(() => client.destroy())
    const stream = client.request({ ':path': '/' })
    // Nothing is read but by `read`.
    stream.on('readable', () => {})
    stream.on('error', () => {})
    await once(stream, 'response')
    const { transport } = served
    const outcomes: string[] = []
    for (let n = 0; n < MESSAGES; n++) {
      const sent = transport.send(message) as Promise<void>
      sent.then(
        () => outcomes.push('taken'),
        () => outcomes.push('refused'),
      )
    }
    /** Takes what is there every so many milliseconds, until all has come. */
    const readEvery = async (ms: number) => {
      for (let got = 0; got < MESSAGES * message.length && !stream.closed; ) {
        await until(() => stream.readableLength > 0 || stream.closed || stream.destroyed)
        got += (stream.read() as Buffer | null)?.length ?? 0
        await settle()
        await clock.pass(ms)
      }
      stream.resume()
    }
    return { transport, outcomes, readEvery }
  }

  it('are no stall to a client of HTTP/2 that reads slowly', async () => {
    const { transport, outcomes, readEvery } = await overHttp2(1000)
    await readEvery(400)
    expect(transport.isClosed).toBe(false)
    expect(outcomes).not.toContain('refused')
    transport.close()
    await within(transport.closed, '`closed`')
  })

  it('are given to a client of HTTP/2 that reads slowly behind a close, too', async () => {
    const { transport, outcomes, readEvery } = await overHttp2(0)
    transport.close()
    await readEvery(250)
    await within(transport.closed, '`closed`')
    expect(outcomes).not.toContain('refused')
  })
})
