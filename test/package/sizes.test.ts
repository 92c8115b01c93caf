import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { usePackedProject } from './support/project.ts'

const project = usePackedProject()

/** Bytes of one entry with all its exports, bundled alone from the built package, minified and compressed. */
async function bundledSize(entry: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from 'resumable-bus${entry}'`, resolveDir: project().directory },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    legalComments: 'none',
    write: false,
  })
  const [output] = outputFiles
  if (output === undefined || output.contents.length === 0)
    throw new Error(`nothing was bundled for "${entry}"`)
  return gzipSync(output.contents, { level: 9 }).length
}

test.each([
  ['', 4096],
  ['/sse', 1024],
  ['/last-event-id', 512],
  ['/web', 4096],
])('resumable-bus%s is at most %i bytes', async (entry, limit) => {
  expect(await bundledSize(entry)).toBeLessThanOrEqual(limit)
})
