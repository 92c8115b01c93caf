/** The agents' processes: each is started without a shell, and ends with its connection or with this process. */
import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk'

/** How long an agent may take to end by itself; then it is killed. */
const END_WITHIN_MS = 2000
/** How much of its last words is told. */
const MAX_WORDS = 300
const isWindows = process.platform === 'win32'

/** @param {readonly string[]} commandLine The program and its arguments, passed on exactly as they are. */
export function createAgents(commandLine) {
  const [command, ...args] = commandLine
  /** Process → the promise of its end. */
  const running = new Map()

  /** The agent and whatever it has started itself, which a group of its own holds together. */
  const signalAll = (child, signal) => {
    try {
      if (isWindows) child.kill(signal)
      else process.kill(-child.pid, signal)
    } catch {
      // Gone already.
    }
  }

  const end = (child) => {
    const ended = running.get(child)
    if (ended === undefined) return
    child.stdin.end()
    signalAll(child, 'SIGTERM')
    const kill = setTimeout(() => signalAll(child, 'SIGKILL'), END_WITHIN_MS)
    ended.then(() => clearTimeout(kill))
  }

  // However this process ends (a second Ctrl-C, a fault of its own), none outlives it.
  process.on('exit', () => {
    for (const child of running.keys()) signalAll(child, 'SIGKILL')
  })

  return {
    /**
     * Starts one, and resolves with its message streams once it runs.
     *
     * @param {AbortSignal} signal Ends it.
     * @param {(fault?: string) => void} onEnd Told once that it is over; in one line why, where nobody asked for it.
     */
    async start(signal, onEnd) {
      const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: !isWindows })
      // A pipe to a program that has ended fails, and so does one that never was.
      child.stdin.on('error', () => {})
      try {
        await new Promise((resolve, reject) => {
          child.once('spawn', resolve)
          child.once('error', reject)
        })
      } catch (error) {
        onEnd(`The agent could not be started: ${reasonOf(error, command)}`)
        throw error
      }

      /** Nobody had asked for it when its output ended. */
      let isUnasked = false
      child.stdout.once('end', () => {
        isUnasked = !signal.aborted
      })
      let lastWords = ''
      child.stderr.on('data', (bytes) => {
        process.stderr.write(bytes)
        const lines = (lastWords + bytes).trimEnd().split('\n')
        lastWords = lines.at(-1).slice(-MAX_WORDS)
      })
      const ended = new Promise((resolve) => {
        child.once('exit', (code, killer) => {
          // What it started and left behind.
          signalAll(child, 'SIGKILL')
          running.delete(child)
          resolve()
          // Its last words may still be in the pipe.
          child.once('close', () => {
            if (!isUnasked) return onEnd()
            const how = killer ? `was ended by ${killer}` : `has ended with exit code ${code}`
            onEnd(`The agent ${how}${lastWords ? `: ${lastWords.trim()}` : '.'}`)
          })
        })
      })
      running.set(child, ended)
      if (signal.aborted) end(child)
      else signal.addEventListener('abort', () => end(child))
      return ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout))
    },

    /** Resolves once none is left. Their signals end them. */
    async allEnded() {
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}

function reasonOf({ code, message }, command) {
  if (code === 'ENOENT') return `there is no program "${command}"`
  if (code === 'EACCES') return `"${command}" may not be run`
  return message
}
