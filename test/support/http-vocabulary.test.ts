import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { ended, heard, over } from './http-client.ts'
import { serve, spyOnWrites } from './http-server.ts'
import { idsFrom, isWholeFrames, Transcript } from './http-transcript.ts'
import { until } from './until.ts'

/** The least server that can do the job: what the vocabulary says about it is known beforehand. */
function stream(res: ServerResponse, ...frames: string[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'x-twice': ['a', 'b'] })
  for (const frame of frames) res.write(frame)
}
const closed = (res: ServerResponse) => new Promise<void>((resolve) => res.once('close', () => resolve()))

describe('a transcript', () => {
  it('keeps retry, comments, cursor blocks, events and control frames in order', () => {
    const transcript = new Transcript()
    transcript.feed(
      Buffer.from(
        'retry: 3000\n\nid: e1:4\nevent: cursor\ndata:\n\n: beat\n\nid: e1:5\nevent: note\ndata: {"v":1,"data":"€"}\n\n' +
          'event: replay_complete\ndata: {"v":1,"type":"replay_complete","data":{"replayedCount":1}}\n\n' +
          'event: beat\ndata:\n\ndata: {"v":1,"type":"stream_error","data":{"code":"x"}}\n\n',
      ),
    )
    expect(transcript.said).toEqual([
      'retry 3000',
      'cursor e1:4',
      ': beat',
      'e1:5 note',
      { replay_complete: { replayedCount: 1 } },
      'no id: beat',
      { stream_error: { code: 'x' } },
    ])
    expect(transcript.cursor).toBe('e1:5')
    expect(transcript.ids).toEqual([5])
  })

  it('reads text that is split inside a character', () => {
    const transcript = new Transcript()
    for (const byte of Buffer.from('id: 1\ndata: "€𝄞"\n\n')) transcript.feed(Uint8Array.of(byte))
    expect(transcript.payloads).toEqual(['€𝄞'])
  })

  it('tells whole frames from halves', () => {
    expect(isWholeFrames('id: 1\ndata: 1\n\n: beat\n\n')).toBe(true)
    expect(isWholeFrames('id: 1\ndata: 1\n')).toBe(false)
    expect(isWholeFrames('')).toBe(false)
  })
})

describe('a raw client', () => {
  it('reads head and body, in one chunk a write, to the end', async () => {
    const server = await serve((_req, res) => {
      const writes = spyOnWrites(res)
      stream(res, 'retry: 1\n\n', 'id: 1\ndata: {}\n\n')
      res.end('id: 2\ndata: {}\n\n')
      expect(writes).toHaveLength(3)
      return closed(res)
    })
    const client = await server.open()
    await ended(client)
    expect(client.status).toBe(200)
    expect(client.headers.get('content-type')).toBe('text/event-stream')
    expect(client.headers.get('x-twice')).toBe('a, b')
    expect(client.transcript.said).toEqual(['retry 1', '1 message', '2 message'])
    expect(client.torn).toBe(false)
  })

  it('reads a body without chunked coding over HTTP/1.0', async () => {
    const server = await serve((_req, res) => {
      stream(res, 'id: 1\ndata: {}\n\n')
      res.end()
      return closed(res)
    })
    const client = await server.open({ version: '1.0' })
    await ended(client)
    expect(client.headers.get('transfer-encoding')).toBe(null)
    expect(client.transcript.ids).toEqual([1])
  })

  it('tells a torn response from an ended one', async () => {
    const server = await serve((_req, res) => {
      stream(res, 'id: 1\ndata: {}\n\n')
      setImmediate(() => res.destroy())
      return closed(res)
    })
    const client = await server.open()
    await over(client)
    expect([client.ended, client.torn]).toEqual([false, true])
  })

  it('looks at exactly so many bytes of the body before it is cut', async () => {
    const frames = idsFrom(1, 50).map((id) => `id: ${id}\ndata: {}\n\n`)
    const whole = frames.join('')
    for (const bytes of [0, 1, 15, 16, 17, 400, whole.length]) {
      const server = await serve((_req, res) => {
        stream(res, ...frames)
        return closed(res)
      })
      const client = server.connect().cutAfter(bytes)
      await until(() => client.closed)
      expect(client.transcript.text).toBe(whole.slice(0, bytes))
    }
  })

  it('stops reading, so that the server’s buffer fills, and reads on', async () => {
    const frame = `data: ${'x'.repeat(65_536)}\n\n`
    const server = await serve(async (_req, res) => {
      stream(res)
      let written = 0
      while (res.writableLength < 1_000_000) {
        res.write(frame)
        written++
        await new Promise(setImmediate)
      }
      res.end(`data: ${written}\n\n`)
      return closed(res)
    })
    const client = await server.open()
    client.stopReading()
    const { res } = await server.exchange()
    await until(() => (res as ServerResponse).writableEnded)
    await client.readSome(500_000)
    expect(client.ended).toBe(false)
    client.readOn()
    await ended(client)
    expect(client.transcript.blocks).toHaveLength(Number(client.transcript.blocks.at(-1)?.data) + 1)
  })

  it('half-closes and goes on reading', async () => {
    const server = await serve(async (req, res) => {
      stream(res, 'id: 1\ndata: {}\n\n')
      await new Promise<void>((resolve) => req.socket.once('end', () => resolve()))
      res.end('id: 2\ndata: {}\n\n')
      return closed(res)
    })
    ;(server.server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
    const client = await server.open()
    await heard(client, (t) => t.ids.includes(1))
    client.halfClose()
    await ended(client)
    expect(client.transcript.ids).toEqual([1, 2])
  })

  it('sends any header, also twice', async () => {
    const server = await serve((req, res) => {
      res.end(JSON.stringify(req.headers['last-event-id']))
      return closed(res)
    })
    const client = await server.open({
      headers: [
        ['Last-Event-ID', '5'],
        ['Last-Event-ID', '7'],
      ],
    })
    await until(() => client.closed || client.headText !== '')
    expect(client.headText).toContain('200')
    expect((await server.exchange()).req.headers['last-event-id']).toBe('5, 7')
  })
})
