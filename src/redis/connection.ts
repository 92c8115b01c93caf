/**
 * One connection of our own to the server of a user's client, up or down, that comes back by itself. Nothing is queued
 * while it is down: what is not sent is rejected, so that order and repetition are decided in one place, and not twice.
 */

import { now } from '../internal/timer.ts'
import type { RedisClient } from './options.ts'

const LONGEST_PAUSE_MS = 1000

/** Attempt 0 waits 50 ms, and a crowd of processes does not come back in step. */
function pause(attempt: number): number {
  return Math.min(50 * 2 ** attempt, LONGEST_PAUSE_MS) * (0.75 + Math.random() / 2)
}

// Replies as they come, whatever a user has them mapped to. The client's own limit on the time until a command is written
// takes 12 µs a command, and says nothing of the answer: what is waited for here has a limit of its own.
const BARE = { timeout: undefined, typeMapping: undefined }

export class Connection {
  /** It takes commands. */
  up = false
  /** The server's number for it. */
  id = ''
  /** The process it is connected to: another one knows nothing of `id`. */
  #server = ''
  readonly #model: RedisClient
  readonly #changed: (error?: unknown) => void
  #client: RedisClient | undefined
  /** Goes up with each attempt and each loss, so that what was begun before is told from what holds now. */
  #attempt = 0
  #unanswered = 0
  #heardAt = now()

  /** Calls `changed` whenever it goes up, and with an error whenever it goes down or fails to come up. */
  constructor(model: RedisClient, changed: (error?: unknown) => void) {
    this.#model = model
    this.#changed = changed
  }

  /** Begins, or begins anew where it may hang. */
  open(): void {
    this.close()
    this.#heardAt = now()
    const { socket } = (this.#model.options ?? {}) as { socket?: object }
    const client = this.#model.duplicate({
      commandOptions: undefined,
      clientSideCache: undefined,
      disableOfflineQueue: true,
      socket: { ...socket, reconnectStrategy: pause },
    })
    this.#client = client
    client.on('ready', () => void this.#greet(client))
    client.on('error', (error) => this.#lost(client, error))
    // Its failures are errors of the client too, and told there.
    client.connect().catch((error) => this.#lost(client, error))
  }

  async send(...args: string[]): Promise<unknown> {
    this.#unanswered++
    try {
      return await (this.#client as RedisClient).sendCommand(args, BARE)
    } finally {
      this.#unanswered--
      this.#heardAt = now()
    }
  }

  /** Begins anew where nothing was heard for so long though something should have been. */
  watch(ms: number): void {
    if ((this.#unanswered > 0 || !this.up) && now() - this.#heardAt > ms) this.open()
  }

  close(): void {
    const client = this.#client
    this.#client = undefined
    if (client !== undefined) this.#lost(undefined, new Error('the connection was closed'))
    try {
      client?.destroy()
    } catch {
      // It was closed already, which some versions call an error.
    }
  }

  async #greet(client: RedisClient): Promise<void> {
    const attempt = ++this.#attempt
    // A user who may not ask goes without: a lost connection is told by the client.
    const ask = (...args: string[]) => client.sendCommand(args).catch(() => '')
    const [id, info] = await Promise.all([ask('CLIENT', 'ID'), ask('INFO', 'server')])
    const [server = ''] = /run_id:\w+/.exec(String(info)) ?? []
    // A connection that was lost may have left commands unread, which must not run behind what is decided now.
    if (this.id !== '' && server !== '' && server === this.#server) await ask('CLIENT', 'KILL', 'ID', this.id)
    if (attempt !== this.#attempt) return
    this.id = String(id)
    this.#server = server
    this.up = true
    this.#heardAt = now()
    this.#changed()
  }

  #lost(client: RedisClient | undefined, error: unknown): void {
    if (client !== this.#client) return
    this.#attempt++
    this.#heardAt = now()
    this.up = false
    this.#changed(error)
  }
}
