import { expect, it, onTestFinished, vi } from 'vitest'
import type { BusLike } from '../../src/index.ts'
import { ResumableSession } from '../../src/session/index.ts'
import { KEY, lagging, type Node, node, pair, publish } from '../support/redis-bus.ts'
import { describeOnRedis, RedisServer } from '../support/redis-server.ts'
import { FakeTransport } from '../support/session-transport.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

function sessionOn(bus: BusLike): ResumableSession {
  const session = new ResumableSession({ id: 's', bus, graceMs: Infinity })
  onTestFinished(() => session.close())
  return session
}

/** A transport that is attached, from a cursor or else from where the session is. */
function attach(session: ResumableSession, lastEventId?: number, epoch?: string): FakeTransport {
  const transport = new FakeTransport()
  expect(session.attach(transport, lastEventId === undefined ? {} : { lastEventId, epoch })).toBe(true)
  return transport
}

const has = (transport: FakeTransport, ...shown: (number | string)[]) =>
  until(
    () => JSON.stringify(transport.shown) === JSON.stringify(shown),
    `${JSON.stringify(shown)} on the transport`,
  ).catch((error) => {
    throw new Error(`${error.message}, which has ${JSON.stringify(transport.shown)}`)
  })

/** The fence behind a reply is in the stream, and its session knows. */
async function fenced(nodes: readonly Node[], id: number): Promise<void> {
  await until(() => nodes.every(({ bus }) => bus.lastEventId === id), `fence ${id}`)
}

describeOnRedis('sessions on the nodes of one bus', () => {
  it('give a client that moves between them each event once, and replies where they were made', async () => {
    const server = await RedisServer.start()
    const [a, b] = await pair(server.url)
    const { epoch } = a.bus
    const [onA, onB] = [sessionOn(a.bus), sessionOn(b.bus)]
    const first = attach(onA)
    await publish(a.bus, 2)
    onA.reply('R1')
    await has(first, 1, 2, 'R1')
    await fenced([a, b], 3)
    await until(() => first.taken.includes('cursor 3'))
    first.drop()

    await publish(b.bus, 2)
    const second = attach(onB, 3, epoch)
    await has(second, 4, 5, 'replay_complete')
    onB.reply('R2')
    await has(second, 4, 5, 'replay_complete', 'R2')
    await fenced([a, b], 6)
    second.drop()

    // What was confirmed on neither comes again, each on its own node.
    const third = attach(onB, 5, epoch)
    await has(third, 'replay_complete', 'R2')
    await fenced([a, b], 7)
    third.drop()
    const fourth = attach(onA, 7, epoch)
    await has(fourth, 'replay_complete')
    await publish(b.bus, 1)
    await has(fourth, 'replay_complete', 8)
  })

  it('take a cursor that the other one gave, though the node is behind: a reply that it confirms does not come again', async () => {
    const server = await RedisServer.start()
    const [a, b] = [await node(server.url), await lagging(server)]
    const { epoch } = a.bus
    const session = sessionOn(b.bus)
    const first = attach(session)
    session.reply('R')
    await has(first, 'R')
    await fenced([a, b], 1)
    first.drop()
    await publish(a.bus, 5)
    expect(b.bus.lastEventId).toBeLessThan(6)
    const second = attach(session, 6, epoch)
    await has(second, 'replay_complete')
    session.reply('S')
    await has(second, 'replay_complete', 'S')
    await fenced([a, b], 7)
    await publish(a.bus, 1)
    await has(second, 'replay_complete', 'S', 8)
  })

  it('send a reply again to a cursor of before the fence, also one that the node has not reached', async () => {
    const server = await RedisServer.start()
    const [a, b] = [await node(server.url), await lagging(server)]
    const { epoch } = a.bus
    await publish(a.bus, 3)
    const session = sessionOn(b.bus)
    const first = attach(session)
    session.reply('R')
    await until(() => first.shown.includes('R'))
    await fenced([a, b], 4)
    first.drop()
    const second = attach(session, 3, epoch)
    await has(second, 'replay_complete', 'R')
  })

  it('take no cursor of a stream that is gone for a confirmation', async () => {
    const server = await RedisServer.start()
    const { bus } = await node(server.url)
    const { epoch } = bus
    const session = sessionOn(bus)
    const first = attach(session)
    await publish(bus, 2)
    session.reply('R')
    await has(first, 1, 2, 'R')
    await until(() => bus.lastEventId === 3)
    first.drop()
    await server.call('DEL', KEY)
    const second = attach(session, 9, epoch)
    await has(second, 'state_resync_required', 'replay_complete', 'R')
    expect(bus.epoch).not.toBe(epoch)
    await until(() => bus.lastEventId === 1)
    await publish(bus, 2)
    await has(second, 'state_resync_required', 'replay_complete', 'R', 2, 3)
  })

  it('stay while Redis is away, with their replies', async () => {
    const server = await RedisServer.start('--appendonly', 'yes')
    const one = await node(server.url)
    const session = sessionOn(one.bus)
    const first = attach(session)
    await publish(one.bus, 2)
    await has(first, 1, 2)
    await server.kill()
    await until(() => one.changes.length === 1)
    session.reply('R')
    await has(first, 1, 2, 'R')
    first.drop()
    const second = attach(session, 1, one.bus.epoch)
    await server.up()
    await until(() => second.shown.includes('R'))
    // Its fence was waiting, and may be behind what is replayed or before.
    expect(second.shown).toEqual([2, 'replay_complete', 'R'])
    expect(session.state).toBe('attached')
  })
})
