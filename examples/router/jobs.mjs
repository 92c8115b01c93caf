/**
 * A job system on one bus. Commands go in as events; a worker accepts or rejects each with a reply on the job's path, and
 * tells its progress as it goes. Nobody holds a reference to anybody: they meet on the bus, by pattern.
 *
 *   commands.<name>   path: the job    what somebody wants
 *   accepted|rejected path: the job    what became of it, at once
 *   progress, done    path: the job    what happens from then on
 */
import { AwaitService, startRouter, subscribe } from 'resumable-bus/router'

/** The side that does the work: `steps` by name of the command, each a function from the job's path to a promise. */
export function startWorker(bus, steps) {
  const answer = (path, type, data) => bus.publish({ system: 'jobs', type, path, data })
  const running = new Map()

  return startRouter(bus, {
    handlers: [
      {
        pattern: { system: 'jobs', type: 'commands.start' },
        handle({ path, data }) {
          if (running.has(path)) return answer(path, 'rejected', new Error(`${path} is running`))
          const unknown = data.steps.find((name) => !Object.hasOwn(steps, name))
          if (unknown !== undefined)
            return answer(path, 'rejected', new Error(`no step is called ${unknown}`))
          const cancel = new AbortController()
          running.set(path, cancel)
          answer(path, 'accepted')
          // Not awaited: the next command must not wait for this job.
          void run(path, data.steps, cancel.signal)
        },
      },
      {
        pattern: { system: 'jobs', type: 'commands.cancel' },
        handle({ path }) {
          const cancel = running.get(path)
          if (cancel === undefined) return answer(path, 'rejected', new Error(`${path} is not running`))
          cancel.abort()
          answer(path, 'accepted')
        },
      },
    ],
    onError: (error, { event, pattern }) => console.error('a handler failed', pattern, event?.id, error),
  })

  async function run(path, names, signal) {
    for (const [at, name] of names.entries()) {
      if (signal.aborted) break
      await steps[name](path)
      answer(path, 'progress', { step: name, done: at + 1, of: names.length })
    }
    running.delete(path)
    answer(path, 'done', { cancelled: signal.aborted })
  }
}

/** The side that wants it done. Rejects with what the worker had against it, or when nobody answers. */
export class JobClient {
  #bus
  #replies
  #jobs = 0

  constructor(bus) {
    this.#bus = bus
    this.#replies = new AwaitService(bus)
  }

  /** Starts a job, and calls back with its progress; resolves to its path when it is accepted. */
  async start(names, onProgress) {
    const path = `job.${++this.#jobs}`
    // From here on, so that nothing of the job is missed, however soon it begins.
    const progress = subscribe(
      this.#bus,
      { system: 'jobs', type: '(progress|done)', path, onError: console.error },
      async (event, { close }) => {
        onProgress(event)
        if (event.type === 'done') await close()
      },
    )
    try {
      await this.command('start', path, { steps: names })
      return path
    } catch (error) {
      await progress.close()
      throw error
    }
  }

  /** Publishes a command, and waits for its reply: prepared before, so that no answer can be too early. */
  async command(name, path, data) {
    const reply = this.#replies.prepare({
      system: 'jobs',
      type: '(accepted|rejected)',
      path,
      timeoutMs: 1000,
    })
    this.#bus.publish({ system: 'jobs', type: `commands.${name}`, path, data })
    const { accepted, error } = await reply.wait()
    if (!accepted) throw error ?? new Error(`${name} was rejected`)
  }

  /** Resolves with what the job has come to, also if that was before the call: the ring still has it. */
  async finished(path) {
    const { event } = await this.#replies.await({ system: 'jobs', type: 'done', path, since: 0 })
    return event.data
  }

  stop() {
    this.#replies.stop()
  }
}
