/**
 * Moves chunks of whole frames from a source to a sink, and knows neither a bus nor a server.
 *
 * It writes while the sink takes more and the source has something, keeps an idle stream alive with heartbeats, and ends
 * the stream once, however it ends. Progress is judged by what the sink has got rid of: a small heartbeat into a dead
 * peer always "succeeds".
 */

import { after } from './timer.ts'

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
  /** Something like the bytes that it was given and has not got rid of: falls as they leave. */
  readonly pending: number
  /** What it was given last waits in it for room; `resume` says when that is over. */
  readonly full: boolean
  /** Takes whole frames. False: no more until `resume`. */
  write(bytes: Uint8Array): boolean
  /** Ends the stream behind what was written. */
  end(): void
  /** Ends the stream at once. */
  destroy(): void
  /** The stream is over: lets go of whatever the sink listens to. */
  settled(reason: EndReason): void
}

/** Where the frames come from. */
export interface Source {
  /** What is ready, as one chunk of whole frames. */
  take(): Uint8Array | undefined
  /** Nothing more will come; why, once all is taken. */
  readonly ended: EndReason | undefined
  /** Calls back once when there is something to take, or the end. */
  wait(wake: () => void): void
  /** The sink has room for what it was given last. */
  taken?(): void
  /** What an idle stream is sent, if anything. */
  beat(): Uint8Array | undefined
  /** Frees whatever the source holds; more than once is once. */
  close(): void
}

export interface PumpTimes {
  /** How long a stream is idle before its source is asked for a beat. */
  readonly beatMs: number
  /** How long bytes may be on their way without progress; 0 = for ever. */
  readonly stallTimeoutMs: number
}

// Progress that shows only when it is looked at is noticed this much of the bound late.
const LOOKS_PER_STALL = 4

const now = () => (globalThis.performance ?? Date).now()

export class Pump {
  /** Bytes given to the sink. */
  bytes = 0
  #sink: Sink | undefined
  readonly #source: Source
  readonly #times: PumpTimes
  readonly #onSettled: (reason: EndReason) => void
  #writable = false
  #waiting = false
  /** Writes that the sink has not got rid of. */
  #inFlight = 0
  /** Bytes that it had got rid of when it was looked at last. */
  #gone = 0
  #lastWrite = 0
  #lastProgress = 0
  #over: EndReason | undefined
  #settled = false
  #cancelBeat: (() => void) | undefined
  #cancelWatch: (() => void) | undefined
  #cancelClose: (() => void) | undefined

  constructor(source: Source, times: PumpTimes, onSettled: (reason: EndReason) => void) {
    this.#source = source
    this.#times = times
    this.#onSettled = onSettled
  }

  /** Writes the opening, if there is one, and begins; what follows waits until the sink says that it takes more. */
  start(sink: Sink, opening: Uint8Array): void {
    this.#sink = sink
    this.#lastWrite = now()
    this.#beatIn(this.#times.beatMs)
    if (opening.length > 0) this.#write(opening)
    this.#run()
  }

  /** The sink takes more. */
  resume(): void {
    this.#writable = true
    this.#source.taken?.()
    this.#run()
  }

  /** The sink got rid of a write. */
  readonly flushed = (): void => {
    this.#inFlight--
    this.#lastProgress = now()
  }

  /** The sink has something on its way that no `write` gave it. */
  launched(): void {
    if (this.#inFlight++ > 0) return
    this.#lastProgress = now()
    if (this.#cancelWatch === undefined && this.#times.stallTimeoutMs > 0) this.#watch()
  }

  /** Ends the stream behind what was written, and behind `last`. */
  finish(reason: EndReason, last?: Uint8Array): void {
    if (this.#over !== undefined) return
    if (last !== undefined) this.#write(last)
    this.#stop(reason)
    this.launched()
    this.#sink?.end()
  }

  /** Ends the stream at once; also one that is about to end. */
  destroy(reason: EndReason): void {
    if (this.#settled) return
    this.#stop(reason)
    this.#sink?.destroy()
    this.settle()
  }

  /** Ends the stream when that much time has passed, unless it ends by itself. */
  destroyIn(ms: number, reason: EndReason): void {
    if (ms === 0) this.destroy(reason)
    else this.#cancelClose ??= after(ms, () => this.destroy(reason))
  }

  /** The sink is done with the stream: all is written, or nobody is there. */
  settle(reason: EndReason = 'disconnected'): void {
    if (this.#settled) return
    this.#settled = true
    this.#stop(reason)
    this.#cancelWatch?.()
    this.#cancelClose?.()
    const over = this.#over as EndReason
    this.#sink?.settled(over)
    this.#onSettled(over)
  }

  #stop(reason: EndReason): void {
    this.#over ??= reason
    this.#cancelBeat?.()
    this.#source.close()
  }

  #run(): void {
    while (this.#writable && this.#over === undefined) {
      const chunk = this.#source.take()
      // Taking runs user code (filters, formats), which may have ended the stream.
      if (this.#over !== undefined) return
      if (chunk !== undefined) this.#write(chunk)
      else if (this.#source.ended !== undefined) this.finish(this.#source.ended)
      else {
        if (!this.#waiting) this.#source.wait(this.#wake)
        this.#waiting = true
        return
      }
    }
  }

  readonly #wake = () => {
    this.#waiting = false
    this.#run()
  }

  #write(bytes: Uint8Array): void {
    this.bytes += bytes.length
    this.launched()
    this.#lastWrite = now()
    try {
      this.#writable = this.#sink?.write(bytes) === true
      if (this.#sink?.full === false) this.#source.taken?.()
    } catch {
      this.destroy('error')
    }
  }

  #beatIn(ms: number): void {
    this.#cancelBeat = after(ms, () => {
      const left = this.#lastWrite + this.#times.beatMs - now()
      if (left > 0) {
        this.#beatIn(left)
        return
      }
      const beat = this.#writable && this.#waiting ? this.#source.beat() : undefined
      if (beat !== undefined) this.#write(beat)
      this.#beatIn(this.#times.beatMs)
    })
  }

  /** Looks now and then, while something is on its way: a timer set anew at every write would cost more than the write. */
  #watch(): void {
    const { stallTimeoutMs } = this.#times
    this.#cancelWatch = after(Math.ceil(stallTimeoutMs / LOOKS_PER_STALL), () => {
      this.#cancelWatch = undefined
      if (this.#inFlight === 0) return
      // Part of a large write may have left without its callback.
      const gone = this.bytes - (this.#sink?.pending ?? 0)
      if (gone > this.#gone) this.#lastProgress = now()
      this.#gone = gone
      if (now() - this.#lastProgress >= stallTimeoutMs) this.destroy('stalled')
      else this.#watch()
    })
  }
}
