/** A client whose commands a test may change, hold or lose on their way: what a network or a server does by chance. */

import { createClient } from 'redis'
import type { RedisClient } from '../../src/redis/index.ts'

type Send = (args: readonly string[]) => Promise<unknown>

/** What becomes of a command; `cut` loses the connection that it is on. */
type Meddle = (args: readonly string[], send: Send, cut: () => void) => Promise<unknown>

let clients = 0

export function meddled(url: string, meddle: Meddle): RedisClient {
  const model = createClient({ url: `${url}?meddled=${++clients}` })
  return {
    options: model.options,
    connect: () => model.connect(),
    destroy: () => model.destroy(),
    sendCommand: (args) => model.sendCommand(args),
    on: (event, listener) => model.on(event as never, listener as never),
    duplicate(overrides): RedisClient {
      const client = model.duplicate(overrides)
      const send = client.sendCommand.bind(client)
      let cut = () => {}
      void client.on('connect', () => {
        // Whatever the client calls its socket, the server knows the connection.
        cut = () => void send(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no']).catch(() => {})
      })
      return Object.assign(client, {
        sendCommand: (args: readonly string[], options?: object) =>
          meddle(args, (changed) => send([...changed], options as never), cut),
      }) as unknown as RedisClient
    },
  }
}

/** A step of events, or what else is asked of a script. */
export function operationOf(args: readonly string[]): string {
  if (args[0] !== 'EVALSHA') return `${args[0]}`
  return args[4] === 'look' || args[4] === 'end' ? args[4] : 'append'
}
