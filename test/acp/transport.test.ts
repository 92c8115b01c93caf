import { describe, expect, it } from 'vitest'
import { farewell, openAcpTransport } from '../../src/acp/transport.ts'
import { settle, within } from '../support/until.ts'

const request = () => new Request('http://host/')
const text = (n: number) => `${n} `.repeat(500)

describe('a transport of ACP', () => {
  it('lets a client that does not read keep it waiting behind a bounded batch, and loses nothing of that', async () => {
    const { transport, response } = openAcpTransport(request(), 'e', 0)
    const sent: number[] = []
    let pending: Promise<void> | undefined
    while (pending === undefined) {
      sent.push(sent.length)
      pending = transport.send({ text: text(sent.length) }) ?? undefined
    }
    expect(sent.length).toBeLessThan(30)
    let waits = true
    void pending.then(() => {
      waits = false
    })
    await settle()
    expect(waits).toBe(true)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let read = ''
    while (read.split('\n\n').length <= sent.length) {
      const { value } = await reader.read()
      read += decoder.decode(value, { stream: true })
    }
    await within(pending, 'the send to settle')
    const numbers = [...read.matchAll(/"text":"(\d+) /g)].map(([, n]) => Number(n))
    expect(numbers).toEqual(sent.map((n) => n + 1))
  })

  it('says why it closes, behind what was sent, as a message of JSON-RPC', async () => {
    const { transport, response } = openAcpTransport(request(), 'e', 0)
    for (let n = 1; n <= 3; n++) transport.send({ n })
    transport.cursor?.(7)
    transport.close('session_taken_over')
    expect(await response.text()).toBe(
      [
        'data: {"n":1}',
        'data: {"n":2}',
        'data: {"n":3}',
        'id: e:7\nevent: cursor\ndata:',
        `data: ${JSON.stringify(farewell('session_taken_over'))}`,
        '',
      ].join('\n\n'),
    )
    expect(transport.isClosed).toBe(true)
  })

  it('refuses what it is sent when it is over', async () => {
    const { transport, response } = openAcpTransport(request(), 'e', 0)
    await response.body?.cancel()
    await transport.closed
    await expect(transport.send({})).rejects.toMatchObject({ code: 'transport_closed' })
  })

  it('rejects the send that waited as its client goes', async () => {
    const { transport, response } = openAcpTransport(request(), 'e', 0)
    let pending: Promise<void> | undefined
    while (pending === undefined) pending = transport.send({ text: text(1) }) ?? undefined
    const rejected = expect(pending).rejects.toMatchObject({ code: 'transport_closed' })
    await response.body?.cancel()
    await rejected
  })
})
