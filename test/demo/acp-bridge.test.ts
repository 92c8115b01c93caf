import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { speakTo, startAcp, startByNpm, Tether } from './acp.ts'
import { endAll, type Served } from './demo.ts'

let served: Served | undefined
let tether: Tether

beforeEach(async () => {
  tether = await Tether.open()
})

afterEach(async () => {
  await served?.stop()
  served = undefined
  tether.close()
  endAll()
})

describe('the agent of the example', () => {
  it('has its turn come whole across a cut, the permission once and the reply last', async () => {
    served = await startAcp()
    const speaker = await speakTo(served.url)
    const turn = speaker.prompt('Is it whole?')
    await speaker.reads(40)
    const before = speaker.text.length
    await speaker.cut()
    expect(await turn).toBe('end_turn')
    const { text } = await speaker.books()
    expect(speaker.text).toBe(text)
    expect(text).toContain('“Is it whole?”')
    expect(text.length).toBeGreaterThan(before)
    expect(speaker.permissions).toBe(1)
    expect(speaker.retries).toBeGreaterThan(0)
  })

  it('gives each page an agent of its own', async () => {
    served = await startAcp(...tether.agent())
    await speakTo(served.url, 'one')
    await speakTo(served.url, 'other')
    await tether.next()
    await tether.next()
  })
})

describe('any other agent', () => {
  it('is started with its arguments as they were given, by npm too', async () => {
    const flags = ['two words', '"quoted"', "it's", '$HOME', '; exit', '*', '--flag=a b']
    served = await startByNpm(...tether.agent(...flags))
    const speaker = await speakTo(served.url)
    const agent = await tether.next()
    expect(agent.flags).toEqual(flags)
    expect(await speaker.prompt('go')).toBe('end_turn')
    expect(speaker.text).toBe('a word')
    // npm tells nobody that it was ended.
    await served.stop()
    await agent.gone
  })

  it('that cannot be started is told in the page and on the terminal', async () => {
    served = await startAcp('no-such-agent', '--flag')
    await expect(speakTo(served.url)).rejects.toThrow()
    const fault = await (await fetch(`${served.url}/fault`, { headers: { 'Demo-Page': 'test' } })).json()
    expect(fault).toEqual({ fault: 'The agent could not be started: there is no program "no-such-agent"' })
    expect(served.output()).toContain('there is no program "no-such-agent"\n')
  })

  it('that ends in the middle of a turn is told with its last words, and leaves nothing behind', async () => {
    served = await startAcp(...tether.agent('--mortal', '--family'))
    const speaker = await speakTo(served.url)
    const [agent, child] = [await tether.next(), await tether.next()]
    await expect(speaker.prompt('go')).rejects.toThrow('the agent is gone')
    await speaker.over
    await Promise.all([agent.gone, child.gone])
    expect(await speaker.fault()).toBe('The agent has ended with exit code 7: out of words')
    expect(served.output()).toContain('The agent has ended with exit code 7: out of words\n')
  })
})

describe('the end', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s ends the streams cleanly, and the agents, and then the process by itself',
    async (signal) => {
      served = await startAcp(...tether.agent())
      const speaker = await speakTo(served.url)
      const agent = await tether.next()
      const { rest } = await speaker.takeOver()
      expect(await served.stop(signal)).toBe(0)
      await agent.gone
      expect(await rest).toContain('"bridge_closed"')
    },
  )

  it('in the middle of a turn is no other', async () => {
    served = await startAcp()
    const speaker = await speakTo(served.url)
    const turn = speaker.prompt('And now?').catch((error: Error) => error.message)
    await speaker.reads(10)
    expect(await served.stop()).toBe(0)
    expect(await turn).toBe('the session is over')
  })

  it('kills an agent that does not listen, and what it has started', async () => {
    served = await startAcp(...tether.agent('--deaf', '--family'))
    await speakTo(served.url)
    const [agent, child] = [await tether.next(), await tether.next()]
    expect(await served.stop()).toBe(0)
    await Promise.all([agent.gone, child.gone])
  })

  it('comes at once with a second Ctrl-C, and takes an agent along that does not listen', async () => {
    served = await startAcp(...tether.agent('--deaf'))
    const speaker = await speakTo(served.url)
    const agent = await tether.next()
    const { rest } = await speaker.takeOver()
    void served.stop('SIGINT')
    await rest
    expect(await served.stop('SIGINT')).toBe(130)
    await agent.gone
  })
})

describe('the server', () => {
  it('answers to its own address and to pages that name themselves, and to nobody else', async () => {
    served = await startAcp(...tether.agent())
    const statusOf = async (path: string, init: RequestInit = {}) =>
      (await fetch(`${served?.url}/${path}`, init)).status
    expect(await statusOf('')).toBe(200)
    expect(await statusOf('acp', { headers: { Origin: 'http://other.example' } })).toBe(403)
    expect(await statusOf('acp')).toBe(400)
    expect(await statusOf('books', { headers: { 'Demo-Page': '../x' } })).toBe(400)
    expect(await statusOf('cut', { headers: { 'Demo-Page': 'a' } })).toBe(405)
    expect(await statusOf('dist/acp.js')).toBe(200)
    expect(await statusOf('dist/node.js')).toBe(404)
    expect(await statusOf('agent.mjs')).toBe(404)
  })
})
