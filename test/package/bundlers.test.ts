import { join } from 'node:path'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import { beforeAll, describe, expect, test } from 'vitest'
import { SCENARIO } from '../runtimes/expected.ts'
import { copyPrograms, type Project, runJson, usePackedProject } from './support/project.ts'

const project = usePackedProject()

beforeAll(async () => {
  await copyPrograms(project(), 'test/runtimes')
  await copyPrograms(project(), 'test/package/programs')
})

type Bundler = (project: Project, input: string, output: string) => Promise<unknown>

const withEsbuild: Bundler = ({ directory }, input, output) =>
  build({
    entryPoints: [input],
    outfile: output,
    absWorkingDir: directory,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
  })

const withRollup: Bundler = async ({ packageDirectory }, input, output) => {
  const bundle = await rollup({
    input,
    plugins: [
      {
        name: 'resolve',
        resolveId(source) {
          if (!/^resumable-bus(\/|$)/.test(source)) return null
          const name = source.split('/')[1] ?? 'index'
          return { id: join(packageDirectory, 'dist', `${name}.js`), moduleSideEffects: false }
        },
      },
    ],
  })
  await bundle.write({ file: output, format: 'es' })
}

describe('what a bundler leaves of the package', () => {
  // Each drops what it takes for dead: code that works by a side effect it does not know of would be gone.
  test.each([
    ['esbuild', withEsbuild],
    ['Rollup', withRollup],
  ])('does the same: %s', async (name, bundler) => {
    const output = join(project().directory, `${name}.mjs`)
    await bundler(project(), join(project().directory, 'bundled.mjs'), output)
    expect(await runJson(project(), output)).toEqual({ scenario: SCENARIO, shared: { serialised: 1 } })
  })
})
