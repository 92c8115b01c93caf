/**
 * Moves chunks of whole frames from a source to a sink, and knows neither a bus nor a server.
 *
 * It writes while the sink takes more and the source has something, keeps an idle stream alive with heartbeats, and ends
 * the stream once, however it ends. Progress is judged by what the sink has got rid of: a small heartbeat into a dead
 * peer always "succeeds".
 */

import { after, now } from './timer.ts'

/** Why a stream ended. */
export type EndReason =
  | 'disconnected'
  | 'aborted'
  | 'evicted'
  | 'stalled'
  | 'ended'
  | 'closed'
  | 'limit'
  | 'error'

/** Where the bytes go. It calls `pump.resume`, `pump.flushed` and `pump.settle` as they apply. */
export interface Sink {
  /**
   * Takes whole frames, and says how many more it wants. 0 or less: none until `resume`; less: these wait in it for room
   * until then.
   */
  write(bytes: Uint8Array): number
  /** Part of a write has left since it was asked last, though not the whole of it. */
  moved?(): boolean
  /** Ends the stream behind what was written. */
  end(): void
  /** Ends the stream at once. */
  destroy(): void
  /** The stream is over: lets go of whatever the sink listens to. */
  settled(reason: EndReason): void
}

/** Where the frames come from. */
export interface Source {
  /** What is written before anything else; may be empty. */
  opening(): Uint8Array
  /** The opening was written. */
  opened?(): void
  /**
   * What is ready, as one chunk of whole frames. Where nothing is: why nothing more will come, or undefined; then the
   * source calls `pump.wake` once there is something. One that throws ends the stream with `error`.
   */
  take(): Uint8Array | EndReason | undefined
  /** The sink has room for what it was given last. */
  taken?(): void
  /** What an idle stream is sent; empty for nothing. */
  beat(): Uint8Array
  /** Frees whatever the source holds; more than once is once. */
  close(): void
  /** The stream is over, and why. */
  settled(reason: EndReason): void
}

export interface Pump {
  /** Bytes given to the sink. */
  readonly bytes: number
  /** Writes the opening and begins; what follows waits until the sink says that it takes more. */
  start(sink: Sink): void
  /** The source has something to take, or its end. */
  wake(): void
  /** The sink takes more. */
  resume(): void
  /** The sink got rid of a write. */
  flushed(): void
  /** Ends the stream behind what was written, and behind `last`. */
  finish(reason: EndReason, last?: Uint8Array): void
  /** Ends the stream at once; also one that is about to end. */
  destroy(reason: EndReason): void
  /** The sink is done with the stream: all is written, or nobody is there. */
  settle(reason?: EndReason): void
}

// Progress that shows only when it is looked at is noticed this much of the bound late.
const LOOKS_PER_STALL = 4

/**
 * `beatMs`: how long a stream is idle before its source is asked for a beat. `stallTimeoutMs`: how long bytes may be on
 * their way without progress; 0 = for ever.
 */
export function createPump(source: Source, beatMs: number, stallTimeoutMs: number): Pump {
  let sink: Sink | undefined
  let bytes = 0
  let writable = false
  let waiting = false
  /** Writes that the sink has not got rid of. */
  let inFlight = 0
  let lastWrite = 0
  let lastProgress = 0
  let over: EndReason | undefined
  let settled = false
  let cancelBeat: (() => void) | undefined
  let cancelWatch: (() => void) | undefined

  const run = () => {
    while (writable && !waiting && !over) {
      let chunk: ReturnType<Source['take']>
      try {
        chunk = source.take()
      } catch {
        // The backend failed: what was taken before is written, and the client comes back with its cursor.
        chunk = 'error'
      }
      // Taking runs user code (filters, formats), which may have ended the stream.
      if (over) return
      if (typeof chunk === 'string') finish(chunk)
      else if (chunk) write(chunk)
      else waiting = true
    }
  }

  const write = (chunk: Uint8Array) => {
    bytes += chunk.length
    launched()
    // Writing may be what has more to say, which comes behind this.
    writable = false
    try {
      const room = (sink as Sink).write(chunk)
      writable = room > 0
      if (room >= 0) source.taken?.()
    } catch {
      destroy('error')
    }
  }

  /** Something is on its way, and is watched until it has left. */
  const launched = () => {
    lastWrite = now()
    if (inFlight++ > 0) return
    lastProgress = lastWrite
    if (!cancelWatch && stallTimeoutMs > 0) watch()
  }

  /** Looks now and then, while something is on its way: a timer set anew at every write would cost more than the write. */
  const watch = () => {
    cancelWatch = after(Math.ceil(stallTimeoutMs / LOOKS_PER_STALL), () => {
      cancelWatch = undefined
      if (inFlight === 0) return
      if (sink?.moved?.()) lastProgress = now()
      if (now() - lastProgress >= stallTimeoutMs) destroy('stalled')
      else watch()
    })
  }

  const beatIn = (ms: number) => {
    cancelBeat = after(ms, () => {
      const left = lastWrite + beatMs - now()
      if (left > 0) return beatIn(left)
      const beat = writable && waiting ? source.beat() : undefined
      if (beat?.length) {
        write(beat)
        run()
      }
      beatIn(beatMs)
    })
  }

  const stop = (reason: EndReason) => {
    over ??= reason
    cancelBeat?.()
    source.close()
  }

  const finish = (reason: EndReason, last?: Uint8Array) => {
    if (over) return
    if (last?.length) write(last)
    stop(reason)
    launched()
    sink?.end()
  }

  const destroy = (reason: EndReason) => {
    if (settled) return
    stop(reason)
    sink?.destroy()
    settle()
  }

  const settle = (reason: EndReason = 'disconnected') => {
    if (settled) return
    settled = true
    stop(reason)
    cancelWatch?.()
    sink?.settled(over as EndReason)
    source.settled(over as EndReason)
  }

  return {
    get bytes() {
      return bytes
    },
    start(to) {
      sink = to
      beatIn(beatMs)
      const opening = source.opening()
      if (opening.length) write(opening)
      // Nothing was written, and yet a sink that never takes the first frame is stuck.
      else launched()
      run()
      source.opened?.()
    },
    wake() {
      waiting = false
      run()
    },
    resume() {
      writable = true
      source.taken?.()
      run()
    },
    flushed() {
      if (--inFlight > 0) lastProgress = now()
    },
    finish,
    destroy,
    settle,
  }
}
