/** The two streams of an agent: what it says is handed on one by one, what it is told is written in order. */

import type { Message, MessageStream } from './messages.ts'

export interface AgentLink {
  /** Writes a message; one that cannot be written is found out by the reader, or by nobody. */
  tell(message: Message): void
  /** Writes a message: true once the agent has taken it, false once it never will. */
  isTold(message: Message): Promise<boolean>
  /** One for each of those that it has not taken yet. */
  readonly waiting: ReadonlySet<unknown>
  /** Ends both streams, behind what was written. An agent that does not read keeps nobody waiting. */
  close(): void
}

/** `onMessage` may return a promise: the next one is read once that has settled. `onGone`: the agent says no more. */
export function linkTo(
  { readable, writable }: MessageStream,
  onMessage: (message: unknown) => Promise<void> | undefined,
  onGone: () => void,
): AgentLink {
  const reader = readable.getReader()
  const writer = writable.getWriter()
  /** Told whether a message was taken. */
  const waiting = new Set<(isTaken: boolean) => void>()

  const listen = async () => {
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        const pause = onMessage(value)
        if (pause) await pause
      }
    } catch {
      // A stream that fails has ended.
    }
    onGone()
  }
  void listen()

  return {
    tell: (message) => void writer.write(message).catch(() => {}),
    isTold: (message) =>
      new Promise((resolve) => {
        const settle = (isTaken: boolean) => {
          waiting.delete(resolve)
          resolve(isTaken)
        }
        waiting.add(resolve)
        writer.write(message).then(
          () => settle(true),
          () => settle(false),
        )
      }),
    waiting,
    close() {
      for (const resolve of waiting) resolve(false)
      writer.close().catch(() => {})
      reader.cancel().catch(() => {})
    },
  }
}
