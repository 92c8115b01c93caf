/**
 * A TCP proxy on the loopback that does to connections what networks do: cuts, stalls, delays, splits, half-closes and
 * reorders, each connection by a fate of its own.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { Cut, type Fate, type Place, type Way } from './chaos-plan.ts'
import { pause } from './until.ts'

export interface ChaosProxy {
  readonly url: string
  readonly port: number
  /** Port of the server; connections that are there stay with the one they have. */
  target: number
  /** Connections that were cut. */
  readonly cuts: number
  /** How often each way and each place of a cut happened. */
  readonly struck: ReadonlyMap<Way | Place, number>
  /** Sockets that are open, on either side. */
  readonly sockets: number
  /** Resets every connection that is there. */
  cut(): void
  close(): Promise<void>
}

const UNTOUCHED: Fate = {
  place: 'anywhere',
  from: Infinity,
  way: 'reset',
  pieces: Infinity,
  holdMs: 0,
  delayMs: 0,
  stallMs: 0,
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const isOver = (socket: Socket) => socket.destroyed || socket.writableEnded

/** RST and nothing before it: `resetAndDestroy` of a socket that can still be written to sends FIN first. */
function reset(socket: Socket): void {
  if (!socket.connecting) Object.assign(socket, { resetAndClosing: true })
  socket.destroy()
}

/** Each new connection asks for its fate; without one it is left alone. Closed after the test. */
export async function chaosProxy(
  target: number,
  nextFate: () => Fate | undefined = () => undefined,
): Promise<ChaosProxy> {
  const sockets = new Set<Socket>()
  /** Connections to the server whose client is gone without its knowledge. */
  const ghosts = new WeakSet<Socket>()
  const struck = new Map<Way | Place, number>()
  /** What waits until a later connection has been answered: the rest of what an earlier one began. */
  let latecomers: (() => void)[] = []

  const watch = (socket: Socket) => {
    sockets.add(socket)
    // Every error is followed by `close`, and errors are what this is about.
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  const open = () =>
    watch(connect({ port: proxy.target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }))

  const count = (fate: Fate) => {
    proxy.cuts++
    for (const what of [fate.way, fate.place]) struck.set(what, (struck.get(what) ?? 0) + 1)
  }

  /** Nothing of this connection is passed on any more. */
  const sever = async (fate: Fate, client: Socket, upstream?: Socket) => {
    count(fate)
    if (fate.way === 'silence') return
    if (fate.way === 'stall') await pause(fate.stallMs)
    if (fate.way === 'half-close') {
      client.end()
      if (upstream === undefined) return
      ghosts.add(upstream.resume())
      latecomers.push(() => upstream.destroy())
    } else if (fate.way === 'end' || fate.way === 'clean end') {
      client.end()
      upstream?.resume().end()
    } else {
      reset(client)
      if (upstream !== undefined) reset(upstream)
    }
  }

  /** Passes on what the server says, until the end or the fate's cut. */
  const answer = async (fate: Fate, client: Socket, upstream: Socket) => {
    const cut = new Cut(fate.place, fate.from)
    const write = async (bytes: Buffer, pieces = fate.pieces) => {
      for (let at = 0; at < bytes.length && !isOver(client); at += pieces) {
        if (!client.write(bytes.subarray(at, Math.min(at + pieces, bytes.length)))) await drained(client)
        if (pieces < Infinity) await turn()
      }
    }
    let whole = true
    let severed = false
    try {
      for await (const data of upstream.iterator({ destroyOnReturn: false })) {
        const chunk = data as Buffer
        if (!whole) {
          await write(chunk, Infinity)
          continue
        }
        if (fate.delayMs > 0) await pause(fate.delayMs)
        const end = cut.in(chunk)
        await write(chunk.subarray(0, end))
        answered()
        if (end === undefined) continue
        whole = false
        severed = fate.way !== 'half-close towards the server'
        if (severed) break
        // What the server still says is passed on.
        count(fate)
        upstream.end()
        await write(chunk.subarray(end), Infinity)
      }
      if (severed) await sever(fate, client, upstream)
      else client.end()
    } catch {
      reset(client)
    }
  }

  const answered = () => {
    const due = latecomers
    latecomers = []
    for (const come of due) come()
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, async (client) => {
    watch(client)
    const fate = nextFate()
    const request = (data: Buffer) =>
      fate?.way === 'clean end'
        ? Buffer.from(data.toString('latin1').replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n'), 'latin1')
        : data

    if (fate?.place === 'before the request') {
      client.once('data', (data) => {
        if (fate.way === 'late') {
          latecomers.push(() => {
            const upstream = open()
            upstream.resume().write(data)
            latecomers.push(() => upstream.destroy())
          })
        }
        void sever(fate, client)
      })
      return
    }

    if (fate !== undefined && fate.holdMs > 0) await pause(fate.holdMs)
    if (client.destroyed) return
    const upstream = open()
    client.on('data', (data) => upstream.write(request(data)))
    client.once('end', () => {
      if (!ghosts.has(upstream)) upstream.end()
    })
    client.once('close', () => {
      if (!ghosts.has(upstream)) upstream.destroy()
    })
    await answer(fate ?? UNTOUCHED, client, upstream)
  })

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const proxy = {
    url: `http://127.0.0.1:${port}/`,
    port,
    target,
    cuts: 0,
    struck,
    get sockets() {
      return sockets.size
    },
    cut: () => {
      for (const socket of sockets) reset(socket)
    },
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      latecomers = []
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  onTestFinished(() => proxy.close())
  return proxy
}

/** Until the socket takes more, or takes nothing ever. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) return resolve()
    const done = () => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
}
