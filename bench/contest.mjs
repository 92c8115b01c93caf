/**
 * Runs contenders against each other: each in a process of its own, sampled in turn (A B C A B C …), and all of that
 * `processes` times over with fresh processes.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

// What one leaves running (its collector's threads) is not to be paid by the next: right behind a contender that makes much
// garbage, every other one took twice as long.
const REST_MS = 100

/** Name of a contender → its samples, the n-th of all contenders taken one right after the other. */
export async function runContest(
  { fixture, contenders, samples, processes, warm, execArgv = [], options = {} },
  profileDir,
) {
  const results = new Map(Object.keys(contenders).map((name) => [name, []]))
  const args = profileDir ? [...execArgv, '--cpu-prof', `--cpu-prof-dir=${profileDir}`] : execArgv

  for (let round = 0; round < processes; round++) {
    const running = new Map()
    try {
      for (const [name, own] of Object.entries(contenders)) {
        const contender = new Contender(name, fixture, { ...options, ...own, warm }, args)
        running.set(name, contender)
        // One after the other, so that none is warmed while another one is using the machine.
        await contender.ready()
      }
      for (let i = 0; i < samples; i++) {
        for (const [name, contender] of running) {
          await setTimeout(REST_MS)
          results.get(name).push(await contender.sample())
        }
      }
    } finally {
      await Promise.all([...running.values()].map((contender) => contender.stop()))
    }
  }
  return results
}

// A contender that lost an event never finishes its burst. Far above what any sample or warming takes.
const PATIENCE_MS = 120_000

class Contender {
  #name
  #child
  #ended
  #answered = false

  constructor(name, fixture, options, execArgv) {
    this.#name = name
    const file = fileURLToPath(new URL('./contender.mjs', import.meta.url))
    this.#child = fork(file, [fixture, JSON.stringify(options)], { execArgv })
    this.#ended = once(this.#child, 'exit')
  }

  async ready() {
    await this.#answer()
  }

  async sample() {
    this.#child.send('sample')
    return this.#answer()
  }

  async stop() {
    // Killed where it may hang; asked where it can still write a profile.
    if (this.#child.connected && this.#answered) this.#child.send('stop')
    else this.#child.kill()
    await this.#ended
  }

  async #answer() {
    this.#answered = false
    const timeout = AbortSignal.timeout(PATIENCE_MS)
    const [answer] = await Promise.race([
      once(this.#child, 'message', { signal: timeout }),
      this.#ended.then(([code]) => {
        throw new Error(`${this.#name} ended with ${code}`)
      }),
    ]).catch((error) => {
      if (!timeout.aborted) throw error
      throw new Error(`${this.#name} gave no answer within ${PATIENCE_MS / 1000} s`)
    })
    this.#answered = true
    return answer
  }
}
