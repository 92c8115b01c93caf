import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { SCENARIO, SERVED } from '../runtimes/expected.ts'
import { copyPrograms, runJson, usePackedProject } from './support/project.ts'

const project = usePackedProject()

beforeAll(async () => {
  await copyPrograms(project(), 'test/runtimes')
  await copyPrograms(project(), 'test/package/programs')
})

describe('the built package', () => {
  test.each(['node.mjs', 'node.cjs'])('does what the contract says in this Node: %s', async (program) => {
    expect(await runJson(project(), program)).toEqual({
      scenario: SCENARIO,
      servers: { serveSse: SERVED, toNodeHandler: SERVED },
    })
  })

  test('does it where timers are numbers, pages are not secure and `using` is unknown', async () => {
    await build({
      entryPoints: [join(project().directory, 'old-page.mjs')],
      outfile: join(project().directory, 'old-page.js'),
      bundle: true,
      format: 'iife',
      target: 'es2022',
      // A property of `Symbol` cannot be taken away, but a bundler can say that it is not there.
      define: { 'Symbol.dispose': 'undefined', 'Symbol.asyncDispose': 'undefined' },
    })
    const result = await runJson<{ scenario: unknown; timers: number }>(
      project(),
      'page-host.mjs',
      'old-page.js',
    )
    expect(result).toEqual({ scenario: SCENARIO, timers: expect.any(Number) })
    expect(result.timers).toBeGreaterThan(0)
  })
})
