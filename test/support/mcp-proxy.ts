/**
 * A proxy on the loopback that cuts event streams: one request a connection, so that it knows what it cuts.
 *
 * No cut is such that the SDK's client cannot come back: it goes on from an id that it read on this very connection, or
 * from that of the connection before where this one was never answered.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Draw } from './chaos-plan.ts'

export interface CuttingProxy {
  readonly url: URL
  readonly cuts: number
  /** Answers of 409: the predecessor was still there. */
  readonly refused: number
}

/**
 * - `end`: FIN to both ends.
 * - `reset`: FIN to the client, RST to the server.
 * - `ghost`: FIN to the client, while the server goes on writing to nobody until it has refused somebody for it.
 */
const WAYS = ['end', 'reset', 'ghost'] as const

export async function cuttingProxy(target: number, draw: Draw): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  const ghosts = new Set<Socket>()
  let cuts = 0
  let refused = 0

  const watch = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    return socket.once('close', () => sockets.delete(socket))
  }

  const sever = (client: Socket, upstream: Socket) => {
    const way = WAYS[draw(WAYS.length)] as (typeof WAYS)[number]
    cuts++
    client.end()
    if (way === 'end') upstream.resume().end()
    else if (way === 'reset') upstream.resetAndDestroy()
    else ghosts.add(upstream.resume())
  }

  const answer = (client: Socket, upstream: Socket, blocks: number, bytes: number) => {
    let head = ''
    let seen = ''
    upstream.on('data', (chunk: Buffer) => {
      if (client.writableEnded) return
      const text = chunk.toString('latin1')
      if (head === '' && text.startsWith('HTTP/1.1 409')) {
        refused++
        for (const ghost of ghosts) ghost.destroy()
        ghosts.clear()
      }
      head ||= text
      seen += text
      const at = head.includes('text/event-stream') ? placeOf(seen, blocks) + bytes : Infinity
      const kept = chunk.length - Math.max(0, seen.length - at)
      if (at > seen.length) return void client.write(chunk)
      if (kept > 0) client.write(chunk.subarray(0, kept))
      sever(client, upstream)
    })
    upstream.once('end', () => client.end())
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    watch(client)
    const [blocks, bytes, unanswered] = [1 + draw(6), draw(150), draw(6) === 0]
    client.once('data', (request) => {
      if (unanswered && /^last-event-id:/im.test(request.toString('latin1'))) {
        cuts++
        client.destroy()
        return
      }
      const upstream = watch(connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }))
      upstream.write(request)
      client.on('data', (data) => upstream.write(data))
      client.once('close', () => ghosts.has(upstream) || upstream.destroy())
      answer(client, upstream, blocks, bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    get cuts() {
      return cuts
    },
    get refused() {
      return refused
    },
  }
}

/** Where so many blocks with an id have ended, or nowhere yet. */
function placeOf(text: string, blocks: number): number {
  let at = 0
  for (let n = 0; n < blocks; n++) {
    for (const mark of ['\nid: ', '\n\n']) {
      const found = text.indexOf(mark, at)
      if (found < 0) return Infinity
      at = found + mark.length
    }
  }
  return at
}
