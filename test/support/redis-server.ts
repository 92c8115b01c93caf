/**
 * A `redis-server` of a test's own: on a free port, in a directory of its own, ended after the test. It can be stopped,
 * killed, paused, started again with or without its data, copied and promoted.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { describe, onTestFinished } from 'vitest'
import { within } from './until.ts'

const BINARY = process.env.REDIS_SERVER ?? 'redis-server'
const HOW =
  'install it with `apt-get install redis-server` (or `brew install redis`), or name it in REDIS_SERVER'

const isThere = (() => {
  try {
    execFileSync(BINARY, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/** A suite that starts servers; skipped, and that said, where there is no `redis-server` to start. */
export function describeOnRedis(name: string, tests: () => void): void {
  if (!isThere) console.warn(`skipped for want of ${BINARY}: ${name}; ${HOW}`)
  describe.skipIf(!isThere)(name, tests)
}

/** None outlives the tests, also where a run is broken off. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export class RedisServer {
  readonly port: number
  readonly #directory = mkdtempSync(join(tmpdir(), 'resumable-bus-redis-'))
  readonly #options: readonly string[]
  #process: ChildProcess | undefined

  /** Takes options as the command line of `redis-server` does; without any, nothing is kept on disk. */
  static async start(...options: string[]): Promise<RedisServer> {
    const server = await RedisServer.startForFile(...options)
    onTestFinished(() => server.end())
    return server
  }

  /** The same, to be ended by whoever asked. */
  static async startForFile(...options: string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), options)
    await server.up()
    return server
  }

  private constructor(port: number, options: readonly string[]) {
    this.port = port
    this.#options = options
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Started, with the data that its directory has; settles when it takes commands. */
  async up(): Promise<void> {
    const child = spawn(
      BINARY,
      [
        ...['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.#directory, '--daemonize', 'no'],
        ...['--save', '', '--appendfsync', 'always', '--repl-diskless-sync-delay', '0', ...this.#options],
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    )
    this.#process = child
    running.add(child)
    child.once('exit', () => running.delete(child))
    let said = ''
    const ready = new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (text) => {
        said += text
        if (said.includes('Ready to accept connections')) resolve()
      })
      child.once('error', reject)
      child.once('exit', () => reject(new Error(`redis-server ended:\n${said}`)))
    })
    await within(ready, 'redis-server to be ready')
  }

  /** Ends it as an operator does, with whatever its options say it keeps. */
  async stop(): Promise<void> {
    await this.#signal('SIGTERM')
  }

  async kill(): Promise<void> {
    await this.#signal('SIGKILL')
  }

  /** It keeps its connections, and says nothing. */
  pause(): void {
    this.#process?.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process?.kill('SIGCONT')
  }

  forget(): void {
    for (const name of readdirSync(this.#directory)) rmSync(join(this.#directory, name), { recursive: true })
  }

  async end(): Promise<void> {
    await this.kill()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  /** One command, on a connection of its own. */
  async call(...args: string[]): Promise<unknown> {
    const client = createClient({ url: this.url, socket: { reconnectStrategy: false } })
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.sendCommand(args)
    } finally {
      client.destroy()
    }
  }

  /** The lines of `CLIENT LIST`, without the one that asks. */
  async clients(): Promise<string[]> {
    const lines = String(await this.call('CLIENT', 'LIST')).split('\n')
    return lines.filter((line) => line !== '' && !line.includes(' cmd=client|list '))
  }

  /** A copy that follows this one, as far as this one is now. */
  async replica(): Promise<RedisServer> {
    const replica = await RedisServer.start('--replicaof', '127.0.0.1', `${this.port}`)
    await replica.follow(this)
    return replica
  }

  /** Settles when this replica has everything that the primary has. */
  async follow(primary: RedisServer): Promise<void> {
    const figure = async (server: RedisServer, name: string) =>
      new RegExp(`${name}:(\\S+)`).exec(String(await server.call('INFO', 'replication')))?.[1]
    let isFollowing = false
    const look = async () => {
      const behind = await figure(primary, 'master_repl_offset')
      const own = await figure(this, 'slave_repl_offset')
      isFollowing =
        (await figure(this, 'master_link_status')) === 'up' &&
        own !== undefined &&
        Number(own) >= Number(behind)
    }
    while (!isFollowing) await within(look(), 'the replica to follow')
  }

  /** A replica that is one no more: what the primary has from now on, it has not. */
  async promote(): Promise<void> {
    await this.call('REPLICAOF', 'NO', 'ONE')
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const over = new Promise((resolve) => child.once('exit', resolve))
    // A paused process takes nothing but this.
    child.kill(signal)
    await within(over, `redis-server to end at ${signal}`)
  }
}

/** Out of the range that the system gives to connections, so that it is still free at a restart. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer()
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
