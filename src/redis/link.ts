/**
 * What the buses of one process share of one server: a connection for commands, and one blocking connection that reads
 * all their streams. Made with the first bus, closed with the last.
 */

import { after } from '../internal/timer.ts'
import appendScript from './append.lua'
import { Connection } from './connection.ts'
import type { RedisClient } from './options.ts'
import { Reader, type Tail } from './reader.ts'
import streamScript from './stream.lua'

/** How often streams are looked at that nothing is heard of: a deleted one wakes no reader. */
const LOOK_MS = 1000
/** Silence after which a connection is taken for dead, well above a pause that Redis may make. */
const DEAD_MS = 15_000

/** Pause before what failed is asked again. */
const RETRY_MS = 100

type Script = 'append' | 'stream'

/** A stream that a bus follows. */
export interface Member extends Tail {
  /** Redis can be reached again. */
  up(): void
  /** It cannot. */
  down(error: unknown): void
}

const links = /* @__PURE__ */ new Map<unknown, Link>()

export class Link {
  /** What it was told last of why it is not up. */
  error: unknown
  #up = false
  /** By which the server knows each script; nothing while it does not. */
  #shas: Readonly<Record<Script, string>> | undefined
  readonly #address: unknown
  readonly #commands: Connection
  readonly #reader: Reader
  readonly #members = new Set<Member>()
  readonly #waiting = new Set<() => void>()
  #stopTicking: () => void = () => {}

  /** The link to a client's server: nothing is opened before somebody joins. */
  static to(client: RedisClient): Link {
    const address = addressOf(client)
    return links.get(address) ?? new Link(client, address)
  }

  private constructor(client: RedisClient, address: unknown) {
    this.#address = address
    this.#commands = new Connection(client, (error) => this.#commandsChanged(error))
    const reading = new Connection(client, (error) => this.#settle(error))
    this.#reader = new Reader(this.#members, reading, (id) => this.#commands.send('CLIENT', 'UNBLOCK', id))
  }

  /** Both connections take commands, and the scripts are there. */
  get isUp(): boolean {
    return this.#up
  }

  join(member: Member): void {
    this.#members.add(member)
    if (this.#members.size > 1) return
    links.set(this.#address, this)
    this.#commands.open()
    this.#reader.open()
    this.#tick()
  }

  /** Settles when what failed may be asked again: a moment later, and when the link is up. Or at once, by `cancel`. */
  again(pauseMs = RETRY_MS): { readonly settled: Promise<void>; readonly cancel: () => void } {
    let cancel = () => {}
    const settled = new Promise<void>((resolve) => {
      const stop = after(pauseMs, () => (this.#up ? cancel() : this.#waiting.add(cancel)))
      cancel = () => {
        stop()
        this.#waiting.delete(cancel)
        resolve()
      }
    })
    return { settled, cancel }
  }

  command(...args: string[]): Promise<unknown> {
    return this.#commands.send(...args)
  }

  /** Runs a script on a stream. */
  async run(script: Script, key: string, ...args: (string | number)[]): Promise<unknown> {
    try {
      return await this.#commands.send('EVALSHA', this.#shas?.[script] ?? '', '1', key, ...args.map(String))
    } catch (error) {
      // Somebody flushed the scripts: they are loaded anew, and what waited is sent in its order by whoever sent it.
      if (codeOf(error) === 'NOSCRIPT') void this.#load(error)
      throw error
    }
  }

  /** Reads the streams that have come to be read, without waiting for those that are read already. */
  read(): void {
    this.#reader.interrupt()
  }

  /** Reads again, where every stream was told of. */
  wake(): void {
    if (this.#up) this.#reader.wake()
  }

  leave(member: Member): void {
    if (!this.#members.delete(member) || this.#members.size > 0) return
    links.delete(this.#address)
    this.#stopTicking()
    this.#commands.close()
    this.#reader.close()
  }

  #tick(): void {
    this.#stopTicking = after(LOOK_MS, () => {
      this.#commands.watch(DEAD_MS)
      this.#reader.watch(DEAD_MS)
      if (this.#up) for (const member of this.#members) void member.look().catch(() => {})
      this.#tick()
    })
  }

  #commandsChanged(error: unknown): void {
    this.#shas = undefined
    if (this.#commands.up) void this.#load()
    this.#settle(error)
  }

  async #load(cause?: unknown): Promise<void> {
    this.#shas = undefined
    this.#settle(cause)
    try {
      const [append, stream] = await Promise.all([
        this.#commands.send('SCRIPT', 'LOAD', appendScript),
        this.#commands.send('SCRIPT', 'LOAD', streamScript),
      ])
      this.#shas = { append: String(append), stream: String(stream) }
      this.#settle(undefined)
    } catch (error) {
      // Lost: it comes back by itself. Refused, as by a server that is still loading its data: asked again.
      if (this.#commands.up) after(LOOK_MS / 4, () => void (this.#commands.up && this.#load()))
      this.#settle(error)
    }
  }

  #settle(error: unknown): void {
    // That nobody is left is no reason.
    if (this.#members.size > 0) this.error = error ?? this.error
    const up = this.#commands.up && this.#reader.up && this.#shas !== undefined
    if (up === this.#up) return
    this.#up = up
    for (const member of this.#members) up ? member.up() : member.down(error)
    if (up) for (const cancel of this.#waiting) cancel()
    this.#reader.run(up)
  }
}

/** The word that an error reply of Redis begins with. */
export function codeOf(error: unknown): string {
  return /^[A-Z]+/.exec(String((error as Error | undefined)?.message))?.[0] ?? ''
}

/** Clients of one server, database, user and password share a link; one that does not say where it leads has its own. */
function addressOf(client: RedisClient): unknown {
  const { options } = client
  if (options === undefined) return client
  const { url, socket = {}, database, username, password } = options as Record<string, unknown>
  const { host, port, path, tls } = socket as Record<string, unknown>
  return JSON.stringify([url, host, port, path, Boolean(tls), database, username, password])
}
