/** The session streams of one connection: which there are, which there were, and that there are not too many. */

import type { BridgeSettings } from './options.ts'
import { remember } from './recent.ts'
import type { AcpStream } from './stream.ts'
import { IN_A_HEADER } from './wire.ts'

export interface Sessions {
  readonly size: number
  get(id: string): AcpStream | undefined
  /** For a client that begins: the stream, a fresh one where the last one has ended; undefined where there can be none. */
  begin(id: string): AcpStream | undefined
  /** For an agent that says something: a session that has expired gets no new stream, since nobody would come for it. */
  ofAgent(id: string): AcpStream | undefined
  /** The stream is over. */
  remove(id: string, stream: AcpStream): void
  values(): Iterable<AcpStream>
}

export function createSessions(
  { maxSessions, maxIdLength }: BridgeSettings['limits'],
  open: (id: string) => AcpStream,
): Sessions {
  const streams = new Map<string, AcpStream>()
  /** The last that ended: what the agent still says of them does not bring them back. */
  const over = new Set<string>()

  const add = (id: string) => {
    // What no header carries nobody can ask for.
    if (streams.size >= maxSessions || id.length > maxIdLength || !IN_A_HEADER.test(id)) return undefined
    over.delete(id)
    const stream = open(id)
    streams.set(id, stream)
    return stream
  }

  return {
    get size() {
      return streams.size
    },
    get: (id) => streams.get(id),
    begin(id) {
      const stream = streams.get(id)
      if (stream && !stream.isEnded) return stream
      stream?.close('replaced')
      return add(id)
    },
    ofAgent: (id) => streams.get(id) ?? (over.has(id) ? undefined : add(id)),
    remove(id, stream) {
      if (streams.get(id) !== stream) return
      streams.delete(id)
      remember(over, id)
    },
    values: () => [...streams.values()],
  }
}
