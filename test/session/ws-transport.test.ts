import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer, WebSocket as WsClient } from 'ws'
import { ResumableSession, type WebSocketLike, wsTransport } from '../../src/session/index.ts'
import { busWith, publish } from '../support/bus.ts'
import { settled } from '../support/reading.ts'
import { fakeTime, flushed, pass, Scene } from '../support/session.ts'
import { until, within } from '../support/until.ts'

/** The platform's socket: no callbacks, and a count of what it holds. */
class PlatformSocket extends EventTarget implements WebSocketLike {
  readyState = 1
  bufferedAmount = 0
  readonly sent: string[] = []
  readonly closes: unknown[][] = []

  send(data: string): void {
    this.sent.push(data)
  }

  close(...how: unknown[]): void {
    this.closes.push(how)
    this.readyState = 2
  }

  become(readyState: number, type: 'open' | 'close' | 'error'): void {
    this.readyState = readyState
    this.dispatchEvent(new Event(type))
  }
}

async function pair(): Promise<{ socket: WebSocket; client: WsClient }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const connected = once(server, 'connection')
  const client = new WsClient(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.terminate()
    server.close()
  })
  const [[socket]] = (await Promise.all([connected, once(client, 'open')])) as [[WebSocket], unknown]
  return { socket, client }
}

/** A send that waits for room on a socket of the platform, and is to fail. */
async function withoutRoom() {
  fakeTime()
  const socket = new PlatformSocket()
  const transport = wsTransport(socket)
  socket.bufferedAmount = 1_000_000
  const refused = expect(transport.send(1)).rejects.toMatchObject({ code: 'transport_closed' })
  await flushed()
  return { socket, transport, refused }
}

describe('over the `ws` package', () => {
  it('a message is one text of bare JSON, whatever its id', async () => {
    const { socket, client } = await pair()
    const texts: string[] = []
    client.on('message', (data) => texts.push(`${data}`))
    const transport = wsTransport(socket)
    await transport.send({ jsonrpc: '2.0', method: 'a' }, 7)
    await transport.send('R')
    await transport.send(undefined)
    await until(() => texts.length === 3)
    expect(texts).toEqual(['{"jsonrpc":"2.0","method":"a"}', '"R"', 'null'])
    expect(transport.cursor).toBeUndefined()
  })

  it('a session sends events and replies in order, and detaches as the client goes', async () => {
    const { socket, client } = await pair()
    const texts: string[] = []
    client.on('message', (data) => texts.push(`${data}`))
    const bus = busWith(0)
    const session = new ResumableSession({ id: 's', bus, translate: ({ data }) => data })
    onTestFinished(() => session.close())
    session.attach(wsTransport(socket))
    publish(bus, 2)
    session.reply('R')
    publish(bus, 1)
    await until(() => texts.length === 4)
    expect(texts).toEqual(['1', '2', '"R"', '3'])
    client.terminate()
    await until(() => session.state === 'detached')
    expect(bus.subscriberCount).toBe(0)
  })

  it('a reason is in the close frame', async () => {
    const { socket, client } = await pair()
    const closing = once(client, 'close')
    const transport = wsTransport(socket)
    transport.close('session_taken_over')
    expect(transport.isClosed).toBe(true)
    const [code, reason] = await within(closing, 'the close frame')
    expect([code, `${reason}`]).toEqual([4000, 'session_taken_over'])
    await within(transport.closed, '`closed`')
  })

  it('without a reason it is a normal closure', async () => {
    const { socket, client } = await pair()
    const closing = once(client, 'close')
    wsTransport(socket).close()
    expect((await within(closing, 'the close frame'))[0]).toBe(1000)
  })

  it('a client that does not read keeps a send pending, and one that goes fails it', async () => {
    const { socket, client } = await pair()
    const transport = wsTransport(socket)
    client.pause()
    const big = 'x'.repeat(8_000_000)
    const send = Promise.resolve(transport.send(big))
    const more = Promise.resolve(transport.send(big))
    more.catch(() => {})
    await flushed()
    expect(await settled(Promise.race([send.then(() => 'taken'), Promise.resolve('pending')]))).toEqual({
      value: 'pending',
    })
    client.terminate()
    await expect(within(more, 'the send')).rejects.toMatchObject({ code: 'transport_closed' })
    await send.catch(() => {})
    await within(transport.closed, '`closed`')
    expect(transport.isClosed).toBe(true)
  })

  it('an error of the socket is none of the process', async () => {
    const { socket } = await pair()
    const transport = wsTransport(socket)
    socket.emit('error', new Error('broken'))
    expect(transport.isClosed).toBe(true)
    socket.terminate()
    await within(transport.closed, '`closed`')
  })
})

describe('over the platform’s WebSocket', () => {
  it('a send is taken once the socket holds little', async () => {
    fakeTime()
    const socket = new PlatformSocket()
    const transport = wsTransport(socket)
    await transport.send({ n: 1 })
    socket.bufferedAmount = 1_000_000
    let taken = false
    void Promise.resolve(transport.send({ n: 2 })).then(() => {
      taken = true
    })
    await pass(1000)
    expect([socket.sent, taken]).toEqual([['{"n":1}', '{"n":2}'], false])
    socket.bufferedAmount = 100
    await pass(100)
    expect(taken).toBe(true)
  })

  it('a send that waits fails as the socket closes', async () => {
    const { socket, transport, refused } = await withoutRoom()
    socket.become(3, 'close')
    await refused
    await transport.closed
    await pass(100)
  })

  it('a send waits for a socket that is connecting', async () => {
    const socket = new PlatformSocket()
    socket.readyState = 0
    const sent = wsTransport(socket).send(1)
    await flushed()
    expect(socket.sent).toEqual([])
    socket.become(1, 'open')
    await sent
    expect(socket.sent).toEqual(['1'])
  })

  it('a socket that is over already is a transport that is', async () => {
    const socket = new PlatformSocket()
    socket.readyState = 3
    const transport = wsTransport(socket)
    expect(transport.isClosed).toBe(true)
    await transport.closed
    await expect(transport.send(1)).rejects.toMatchObject({ code: 'transport_closed' })
    transport.close('again')
    expect(socket.closes).toEqual([])
  })

  it('a reason is cut to what a close frame may hold, between characters', () => {
    const socket = new PlatformSocket()
    wsTransport(socket).close('ä'.repeat(100))
    expect(socket.closes).toEqual([[4000, 'ä'.repeat(61)]])
    const pair = new PlatformSocket()
    wsTransport(pair).close(`${'x'.repeat(120)}😀${'y'.repeat(1_000_000)}`)
    expect(pair.closes).toEqual([[4000, 'x'.repeat(120)]])
  })

  it('a socket that somebody else is closing takes nothing more: the platform drops it without a word', async () => {
    const scene = new Scene()
    const socket = new PlatformSocket()
    const transport = wsTransport(socket)
    scene.session.attach(transport)
    await flushed()
    socket.readyState = 2
    expect(transport.isClosed).toBe(true)
    await scene.reply('R')
    expect([scene.session.state, scene.bus.lastEventId]).toEqual(['detached', 0])
    expect((await scene.attach()).shown).toEqual(['R'])
  })

  it('a send that waits for room fails as somebody else closes the socket', async () => {
    const { socket, refused } = await withoutRoom()
    socket.readyState = 2
    await pass(100)
    await refused
  })

  it('a message that JSON cannot carry is refused, and the socket lives', async () => {
    const transport = wsTransport(new PlatformSocket())
    await expect(transport.send(1n)).rejects.toThrow(TypeError)
    expect(transport.isClosed).toBe(false)
  })
})

it('a socket that emits is taken for one of `ws`', async () => {
  const socket = Object.assign(new EventEmitter(), {
    readyState: 1,
    sent: undefined as ((error?: Error) => void) | undefined,
    send(_: string, sent?: (error?: Error) => void) {
      this.sent = sent
    },
    close() {},
    addEventListener() {},
  })
  const transport = wsTransport(socket)
  const refused = expect(transport.send(1)).rejects.toMatchObject({ code: 'transport_closed' })
  await flushed()
  socket.sent?.(new Error('EPIPE'))
  await refused
})
