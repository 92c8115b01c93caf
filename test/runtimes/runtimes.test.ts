import { beforeAll, describe, expect, test } from 'vitest'
import { copyPrograms, run, usePackedProject } from '../package/support/project.ts'
import { SCENARIO, SERVED } from './expected.ts'
import { NODES, runtime, SKIPPED } from './installed.ts'
import { overHttp } from './over-http.mjs'
import { startWorker } from './workerd.ts'

if (SKIPPED !== undefined) console.warn(`The other runtimes are skipped: ${SKIPPED}`)

const project = usePackedProject()

beforeAll(() => copyPrograms(project(), 'test/runtimes'))

/** What Deno says to every server that listens to a request's signal, as any stream must. */
const DENO_NOTICE = /^Deno\.serve: request\.signal aborts on successful responses .*\n/

async function resultOf(name: string, ...args: string[]): Promise<unknown> {
  const { stdout, stderr } = await run(project(), runtime(name), args)
  expect.soft(stderr.replace(DENO_NOTICE, '')).toBe('')
  return JSON.parse(stdout)
}

describe.skipIf(SKIPPED !== undefined)('the built package', () => {
  describe.each(NODES)('under %s', (name) => {
    test.each(['node.mjs', 'node.cjs'])('does what the contract says: %s', async (program) => {
      const result = await resultOf(name, program)
      expect(result).toEqual({
        scenario: SCENARIO,
        servers: { serveSse: SERVED, toNodeHandler: SERVED },
      })
    })

    test('loads without a host call at import', async () => {
      await copyPrograms(project(), 'test/package/programs')
      const neutral = ['', '/sse', '/last-event-id', '/web']
      expect(await resultOf(name, 'refused-at-import.mjs', ...neutral)).toEqual({ called: [], built: true })
    })
  })

  test('does the same under Bun, imported and required, and behind its server', async () => {
    expect(await resultOf('@oven/bun-linux-x64', 'bun.mjs')).toEqual({
      scenario: SCENARIO,
      required: SCENARIO,
      servers: { served: SERVED },
    })
  })

  test('does the same under Deno, imported and required, and behind its server', async () => {
    // Deno asks for each right; the package itself needs none: network and files are for the server and the loader.
    const rights = ['--allow-net=127.0.0.1', '--allow-read=.', '--no-prompt']
    const flags = ['--node-modules-dir=manual', '--no-remote', '--no-lock', '--quiet']
    const result = await resultOf('@deno/linux-x64-glibc', 'run', ...flags, ...rights, 'deno.mjs')
    expect(result).toEqual({ scenario: SCENARIO, required: SCENARIO, servers: { served: SERVED } })
  })

  test('does the same in a Worker, and from a Durable Object that requests share', async () => {
    const worker = await startWorker(project())
    try {
      const scenario = await fetch(`${worker.origin}/scenario`)
      expect(await scenario.json()).toEqual(SCENARIO)
      const seen = await overHttp(worker.origin, {
        publish: () => fetch(`${worker.origin}/publish`),
        subscriberCount: async () => (await fetch(`${worker.origin}/subscribers`)).json() as Promise<number>,
      })
      expect(seen).toEqual(SERVED)
    } finally {
      await worker.stop()
    }
  })
})
