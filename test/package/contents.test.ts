import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { describe, expect, test } from 'vitest'
import { entriesOf, ROOT, usePackedProject } from './support/project.ts'

const project = usePackedProject()

/** What a user needs, and nothing else. */
const WANTED = [
  /^dist\/[a-z-]+\.(js|cjs|d\.ts|d\.cts)$/,
  /^dist\/[\w-]+-[\w-]{8}\.(js|cjs|d\.ts|d\.cts)$/,
  /^package\.json$/,
  /^README\.md$/,
  /^CHANGELOG\.md$/,
  /^LICENSE$/,
]

describe('the tarball', () => {
  test('holds the build, the manifest, the license and the documentation, and nothing else', () => {
    const unwanted = project()
      .files.map((file) => file.path)
      .filter((path) => !WANTED.some((pattern) => pattern.test(path)))
    expect(unwanted).toEqual([])
  })

  test.each(['LICENSE', 'README.md', 'package.json'])('holds %s', (path) => {
    expect(project().files.map((file) => file.path)).toContain(path)
  })

  test('holds code and declarations of every entry in both formats, and no empty file', () => {
    const names = entriesOf(project()).map((entry) => entry.slice(1) || 'index')
    const wanted = names.flatMap((name) => ['js', 'cjs', 'd.ts', 'd.cts'].map((end) => `dist/${name}.${end}`))
    expect(project().files.map((file) => file.path)).toEqual(expect.arrayContaining(wanted))
    expect(project().files.filter((file) => file.size === 0)).toEqual([])
  })

  test('has CommonJS that runs as it was written', async () => {
    // The build can lower `a?.b ?? c` to helper functions that take closures, once per event on the hot path.
    for (const { path } of project().files.filter((file) => file.path.endsWith('.cjs'))) {
      const text = await readFile(join(project().packageDirectory, path), 'utf8')
      expect.soft(text, path).not.toMatch(/_optionalChain|_nullishCoalesce|_interopRequire/)
    }
  })

  test('holds the notice of the parser beside its code, and nothing of its types', async () => {
    const notice = await readFile(join(ROOT, 'node_modules/eventsource-parser/LICENSE'), 'utf8')
    const words = (text: string) => text.replace(/[\s*]+/g, ' ').trim()
    const holders: string[] = []
    for (const { path } of project().files.filter((file) => file.path.startsWith('dist/'))) {
      const text = await readFile(join(project().packageDirectory, path), 'utf8')
      if (text.includes('skippingLine')) holders.push(path)
      if (/\.d\.c?ts$/.test(path))
        expect.soft(text, path).not.toMatch(/eventsource-parser|EventSourceParser|ParseError/)
      else if (text.includes('skippingLine')) expect.soft(words(text), path).toContain(words(notice))
      else expect.soft(text, path).not.toContain('eventsource-parser')
    }
    // Once per format, shared by the entries that read streams.
    expect(holders.map((path) => path.replace(/.*\./, '')).sort()).toEqual(['cjs', 'js'])
  })

  test('names nothing of the machine that built it', async () => {
    for (const { path } of project().files) {
      const text = await readFile(join(project().packageDirectory, path), 'utf8')
      expect.soft(text.includes(process.cwd()), path).toBe(false)
    }
  })
})

describe('the manifest', () => {
  test('asks for nothing to be installed or run', () => {
    const { manifest } = project()
    for (const field of [
      'dependencies',
      'optionalDependencies',
      'bundledDependencies',
      'bundleDependencies',
    ]) {
      expect.soft(manifest[field], field).toBeUndefined()
    }
    const scripts = Object.keys(manifest.scripts as object)
    expect(scripts.filter((name) => /^(pre|post)?install$/.test(name) || name === 'prepare')).toEqual([])
  })

  test('says what the contract says', () => {
    expect(project().manifest).toMatchObject({
      name: 'resumable-bus',
      license: 'MIT',
      type: 'module',
      sideEffects: false,
      engines: { node: '>=20.9' },
    })
  })

  test('satisfies publint to its last suggestion', async () => {
    const { messages } = await publint({
      pkgDir: project().packageDirectory,
      level: 'suggestion',
      strict: true,
      pack: false,
    })
    expect(messages.map((message) => formatMessage(message, project().manifest))).toEqual([])
  })
})

test('every entry has the right types for each module format', async () => {
  const tarball = await readFile(project().tarball)
  const result = await checkPackage(createPackageFromTarballData(tarball))
  if (result.types === false) throw new Error('the tarball has no types')
  expect(Object.keys(result.entrypoints)).toEqual(
    expect.arrayContaining(entriesOf(project()).map((e) => `.${e}`)),
  )
  // `node10` knows no `exports` map. No Node that the package supports resolves that way.
  const problems = result.problems.filter(
    (problem) => !('resolutionKind' in problem && problem.resolutionKind === 'node10'),
  )
  expect(problems).toEqual([])
})
