import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import type * as core from '../../src/index.ts'

type Core = typeof core

let code = ''
let inputs: string[] = []

beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [new URL('../../src/index.ts', import.meta.url).pathname],
    bundle: true,
    write: false,
    metafile: true,
    format: 'iife',
    globalName: 'core',
    platform: 'neutral',
    target: 'es2022',
  })
  code = outputFiles[0]?.text ?? ''
  inputs = Object.keys(metafile.inputs)
})

/** Globals that some runtimes refuse at import, each of which counts its uses. */
function poisoned() {
  const calls: string[] = []
  const poison = (name: string) =>
    function refuse(): never {
      calls.push(name)
      throw new Error(`${name} at import`)
    }
  const sandbox = {
    crypto: { getRandomValues: poison('getRandomValues'), randomUUID: poison('randomUUID') },
    setTimeout: poison('setTimeout'),
    setInterval: poison('setInterval'),
    setImmediate: poison('setImmediate'),
    queueMicrotask: poison('queueMicrotask'),
    fetch: poison('fetch'),
    AbortController: poison('AbortController'),
    console: { log: poison('console'), warn: poison('console'), error: poison('console') },
  }
  return { calls, sandbox }
}

/** The bundle in a context that has the language, a text encoder as every runtime has, and `sandbox`. */
function imported(sandbox: object): Core {
  const context = createContext({ TextEncoder, ...sandbox })
  return runInContext(`${code}; core`, context) as Core
}

describe('the core entry', () => {
  it('imports without a single call to timers, randomness, fetch, AbortController or the console', () => {
    const { calls, sandbox } = poisoned()
    const { EventBus } = imported(sandbox)
    expect(calls).toEqual([])
    expect(typeof EventBus).toBe('function')
  })

  it('imports where none of these exist', () => {
    expect(() => imported({})).not.toThrow()
  })

  it('draws nothing at random but an epoch that was not given, and only when a bus is made', () => {
    const { calls, sandbox } = poisoned()
    const { EventBus } = imported(sandbox)
    expect(() => new EventBus({ epoch: 'given' })).not.toThrow()
    expect(calls).toEqual([])
  })

  it('makes a bus in a page without a secure context, which has no randomUUID', () => {
    const { EventBus } = imported({
      crypto: { getRandomValues: (bytes: Uint8Array) => globalThis.crypto.getRandomValues(bytes) },
    })
    const bus = new EventBus()
    expect(bus.epoch).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(bus.publish({ type: 'a', data: 1 })?.id).toBe(1)
  })

  it('works where timers, Buffer, process and the dispose symbols are missing', async () => {
    const sandbox = { TextEncoder, result: undefined as unknown }
    const context = createContext(sandbox)
    expect(runInContext('Symbol.asyncDispose', context)).toBeUndefined()
    runInContext(
      `${code}
      result = (async () => {
        const bus = new core.EventBus({ epoch: 'e', maxRingBytes: 10000 })
        const subscription = bus.subscribe()
        bus.publish({ type: 'a', data: 'ä€' })
        bus.publish({ type: 'b' })
        const resumed = bus.subscribe({ lastEventId: 1 })
        bus.end()
        const seen = []
        for await (const frame of subscription) seen.push(frame.type)
        for await (const frame of resumed) seen.push(frame.type)
        return [seen.join(), 'undefined' in subscription, 'undefined' in bus].join()
      })()`,
      context,
    )
    expect(await sandbox.result).toBe('a,b,b,replay_complete,false,false')
  })

  it('imports nothing of Node and nothing from outside', () => {
    expect(code).not.toMatch(/\bnode:|\brequire\(|\bBuffer\b|\bprocess\b/)
    for (const input of inputs) expect(input).toMatch(/^src\/(index|core\/|internal\/)/)
  })
})
