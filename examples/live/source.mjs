/**
 * Where the demo's events come from: the lines of standard input where that is a pipe or a file, else this machine's
 * own figures, eight a second.
 */
import { fstatSync } from 'node:fs'
import { cpus, freemem, loadavg, totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay, setImmediate as macrotask } from 'node:timers/promises'
import { splitLines } from './lines.mjs'

const FIGURES_EVERY_MS = 125
const DELAY_RESOLUTION_MS = 10
/** Lines published before the event loop gets a turn, so that a page which reads keeps up with any input. */
const LINES_PER_TURN = 32

/** What standard input is, told by `fstat`. */
function kindOfInput() {
  let stat
  try {
    stat = fstatSync(0)
  } catch {
    return 'none' // closed by whoever started us
  }
  if (stat.isFIFO()) return 'pipe'
  if (stat.isFile()) return 'file'
  // What a parent process written in Node calls a pipe. Many parents make one and never write to it.
  return stat.isSocket() ? 'socket' : 'none'
}

/**
 * Starts publishing through `publish({ type, data, at })` and returns `{ describe, stop }`.
 *
 * @param {(event: object) => void} publish
 * @param {{ linesPerSecond?: number }} options `linesPerSecond` slows a file down to the pace of a live stream;
 *   default: lines are published as fast as they come.
 */
export function openSource(publish, { linesPerSecond } = {}) {
  const input = kindOfInput()
  const state = { kind: input === 'pipe' || input === 'file' ? 'input' : 'figures', ended: false, lines: 0 }
  let stopFigures = () => {}
  let stopped = false

  const emit = (type, data, extra) => publish({ type, data, at: Date.now(), ...extra })

  async function readLines() {
    const pause = linesPerSecond ? 1000 / linesPerSecond : 0
    for await (const { text, clipped } of splitLines(process.stdin)) {
      if (state.kind === 'figures') {
        stopFigures()
        state.kind = 'input'
      }
      state.lines += 1
      emit('line', text, clipped ? { clipped: true } : {})
      if (pause > 0) await delay(pause)
      else if (state.lines % LINES_PER_TURN === 0) await macrotask()
      if (stopped) return
    }
  }

  if (state.kind === 'figures') stopFigures = startFigures(emit)
  if (input !== 'none') {
    readLines()
      .catch((error) => {
        if (!stopped) state.error = error.message
      })
      .finally(() => {
        state.ended = state.kind === 'input'
      })
  }

  return {
    /** `{ kind: 'input' | 'figures', ended, lines, error? }`, for the page. */
    describe: () => ({ ...state }),
    stop() {
      stopped = true
      stopFigures()
      if (input !== 'none') process.stdin.destroy()
    },
  }
}

/** Load, memory and event-loop delay in turn; returns what stops them. */
function startFigures(emit) {
  const histogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  histogram.enable()
  let before = processorTimes()

  const figures = [
    () => {
      const now = processorTimes()
      const total = now.total - before.total
      const cpuPercent = total > 0 ? round((100 * (now.busy - before.busy)) / total) : 0
      before = now
      emit('load', { cpuPercent, load: round(loadavg()[0], 2), cores: cpus().length })
    },
    () => {
      const used = totalmem() - freemem()
      emit('memory', {
        usedPercent: round((100 * used) / totalmem()),
        freeMiB: mebibytes(freemem()),
        processMiB: mebibytes(process.memoryUsage.rss()),
      })
    },
    () => {
      // The histogram holds the length of each turn of its own timer; what exceeds the resolution is the delay.
      const late = (nanoseconds) => round(Math.max(0, nanoseconds / 1e6 - DELAY_RESOLUTION_MS), 2)
      emit('event_loop_delay', { medianMs: late(histogram.percentile(50)), maxMs: late(histogram.max) })
      histogram.reset()
    },
  ]
  let turn = 0
  const timer = setInterval(() => figures[turn++ % figures.length](), FIGURES_EVERY_MS)
  return () => {
    clearInterval(timer)
    histogram.disable()
  }
}

function processorTimes() {
  let total = 0
  let idle = 0
  for (const { times } of cpus()) {
    total += times.user + times.nice + times.sys + times.irq + times.idle
    idle += times.idle
  }
  return { total, busy: total - idle }
}

const mebibytes = (bytes) => Math.round(bytes / 1_048_576)
const round = (value, digits = 1) => Number(value.toFixed(digits))
