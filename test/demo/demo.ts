/** Starts the examples as a person would, and talks to the live demo. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const START = fileURLToPath(new URL('../../examples/live/start.mjs', import.meta.url))
const PUBLISHED_URL = /http:\/\/127\.0\.0\.1:\d+/

/** An example that serves. */
export interface Served {
  readonly url: string
  /** What it has written so far, to both outputs. */
  output(): string
  /** Sends the signal and resolves with the exit code; null where the process did not exit by itself. */
  stop(signal?: 'SIGINT' | 'SIGTERM'): Promise<number | null>
}

export interface Demo extends Served {
  /** Writes lines to its standard input, where that is a pipe. */
  send(...lines: string[]): void
  /** Closes its standard input, where that is a pipe. */
  endInput(): void
  stats(): Promise<DemoStats>
}

export interface DemoStats {
  readonly source: { readonly kind: 'input' | 'figures'; readonly ended: boolean; readonly lines: number }
  readonly bus: { readonly epoch: string; readonly lastEventId: number; readonly earliestAvailableId: number }
  readonly subscribers: readonly { readonly queued: number }[]
}

export interface DemoOptions {
  /** `terminal`: nothing is piped in. `pipe`: `something | npm start`. Else a path: `npm start < file`. */
  readonly input?: 'terminal' | 'pipe' | { readonly file: string }
  /** Default: any free one. */
  readonly port?: string
  /** The script to run; default: the one of this checkout. */
  readonly start?: string
  readonly env?: Record<string, string>
}

const running = new Set<ChildProcess>()

/** Ends whatever a failed test left behind. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** Runs a program and resolves once it has printed its address. */
export async function startServing(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
  stdin: number | 'ignore' = 'ignore',
): Promise<Served> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: [stdin, 'pipe', 'pipe'] })
  running.add(child)
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      running.delete(child)
      resolve(code)
    })
  })

  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      const found = PUBLISHED_URL.exec(output)
      if (found) resolve(found[0])
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    exited.then((code) => reject(new Error(`the example exited with ${code}:\n${output}`)))
  })

  return {
    url,
    output: () => output,
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
}

export async function startDemo({
  input = 'terminal',
  port = '0',
  start = START,
  env,
}: DemoOptions = {}): Promise<Demo> {
  const stdin = openInput(input)
  const starting = startServing(process.execPath, [start], { PORT: port, ...env }, stdin.read)
  if (stdin.read !== undefined) closeSync(stdin.read)
  const served = await starting
  return {
    ...served,
    send: (...lines) => stdin.write(`${lines.join('\n')}\n`),
    endInput: () => stdin.end(),
    stats: async () => (await fetch(`${served.url}/stats`)).json() as Promise<DemoStats>,
    stop(signal) {
      stdin.end()
      return served.stop(signal)
    },
  }
}

interface Input {
  readonly read?: number
  write(text: string): void
  end(): void
}

function openInput(input: DemoOptions['input']): Input {
  const none = {
    write() {
      throw new Error('standard input is no pipe')
    },
    end() {},
  }
  if (typeof input === 'object') return { ...none, read: openSync(input.file, 'r') }
  if (input !== 'pipe') return none

  // What Node calls a pipe is a pair of sockets; a shell makes a real one, and so does this.
  const folder = mkdtempSync(join(tmpdir(), 'resumable-bus-demo-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  // Opened for both, because opening one end alone waits for the other.
  let held: number | undefined = openSync(path, 'r+')
  const read = openSync(path, 'r')
  rmSync(folder, { recursive: true })
  return {
    read,
    write(text) {
      if (held === undefined) throw new Error('standard input has ended')
      writeSync(held, text)
    },
    end() {
      if (held !== undefined) closeSync(held)
      held = undefined
    },
  }
}
