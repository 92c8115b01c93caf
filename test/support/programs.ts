/** Programs of the tests as processes of their own: bundled from the source, ended after the test. */

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import { within } from './until.ts'

const HERE = fileURLToPath(new URL('..', import.meta.url))

export class Program {
  /** Resolves with the exit code, or the name of the signal. */
  readonly over: Promise<number | string>
  readonly #child: ChildProcess

  /** `path` is below `test/`. */
  static async start(path: string, ...args: string[]): Promise<Program> {
    const directory = mkdtempSync(join(tmpdir(), 'resumable-bus-program-'))
    const outfile = join(directory, 'program.cjs')
    await build({
      entryPoints: [join(HERE, path)],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20',
      loader: { '.lua': 'text' },
      logLevel: 'error',
    })
    const program = new Program(fork(outfile, args, { execArgv: [] }))
    onTestFinished(async () => {
      program.kill()
      await program.over
      rmSync(directory, { recursive: true, force: true })
    })
    return program
  }

  private constructor(child: ChildProcess) {
    this.#child = child
    this.over = new Promise((resolve) =>
      child.once('exit', (code, signal) => resolve(code ?? (signal as string))),
    )
  }

  send(message: object | string): void {
    this.#child.send(message)
  }

  /** The next message that it sends. */
  said<T>(withinMs = 60_000): Promise<T> {
    const message = new Promise<T>((resolve, reject) => {
      this.#child.once('message', (value) => resolve(value as T))
      void this.over.then((how) => reject(new Error(`the program ended first: ${how}`)))
    })
    return within(message, 'a message of the program', withinMs)
  }

  kill(): void {
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL')
  }
}
