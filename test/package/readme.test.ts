import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { transform } from 'esbuild'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { compile, textOf } from './support/compile.ts'
import { copyPrograms, link, ROOT, run, usePackedProject } from './support/project.ts'
import { fencesOf, mistakesOf, readFences, type Snippet, snippetsOf } from './support/readme.ts'

/** What a snippet may import beside the package: the frameworks that it shows. */
const FRAMEWORKS = [
  'express',
  'fastify',
  'hono',
  'koa',
  'compression',
  'redis',
  'ws',
  '@agentclientprotocol/sdk',
  '@modelcontextprotocol/sdk',
]
const TYPES = [
  '@redis',
  '@types/node',
  'undici-types',
  '@types/express',
  '@types/koa',
  '@types/compression',
  '@types/ws',
]

const pages = ['README.md', ...(await documentation())]
const fences = (await Promise.all(pages.map(readFences))).flat()
const snippets = snippetsOf(fences)
const project = usePackedProject()

async function documentation(): Promise<string[]> {
  const files = await readdir(join(ROOT, 'docs'), { recursive: true }).catch(() => [])
  return files.filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)
}

beforeAll(async () => {
  await link(project(), ...FRAMEWORKS, ...TYPES)
  await copyPrograms(project(), 'test/package/programs')
  for (const snippet of snippets) {
    await writeFile(sourceOf(snippet), snippet.text)
    await writeFile(programOf(snippet), await runnable(snippet))
  }
})

function sourceOf({ name, extension }: Snippet): string {
  return join(project().directory, `${name}.${extension}`)
}

function programOf({ name, extension }: Snippet): string {
  return join(project().directory, extension === 'mts' ? `${name}.mjs` : `${name}.${extension}`)
}

async function runnable({ text, extension }: Snippet): Promise<string> {
  return extension === 'mts' ? (await transform(text, { loader: 'ts', target: 'node20' })).code : text
}

describe('the documentation', () => {
  test('marks its code in ways that these tests know', () => {
    expect(mistakesOf(fences)).toEqual([])
  })

  test('shows how to begin with a program that is run here', () => {
    expect(snippets.filter((snippet) => snippet.run !== 'no').length).toBeGreaterThan(0)
  })

  test('has code that compiles against the built package', () => {
    const faults = compile({
      directory: project().directory,
      files: snippets.map(sourceOf),
      resolution: 'node16',
      nodeTypes: true,
      options: {
        // The declarations of the frameworks are not ours to check.
        skipLibCheck: true,
        allowJs: true,
        checkJs: true,
        esModuleInterop: true,
        exactOptionalPropertyTypes: false,
        moduleDetection: ts.ModuleDetectionKind.Force,
      },
    })
    expect(faults.map(textOf)).toEqual([])
  })

  const programs = snippets.filter((snippet) => snippet.run === 'run')
  test.each(programs)('$name runs to its end', async (snippet) => {
    const { stdout } = await run(project(), process.execPath, [programOf(snippet)])
    if (snippet.prints !== undefined) expect(stdout.trimEnd()).toBe(snippet.prints.trimEnd())
  })

  const servers = snippets.filter((snippet) => snippet.run === 'serve')
  test.each(servers)('$name serves $path', async (snippet) => {
    const child = spawn(process.execPath, ['--import', './any-port.mjs', programOf(snippet)], {
      cwd: project().directory,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    try {
      const response = await fetch(`http://127.0.0.1:${await portOf(child)}${snippet.path}`)
      expect(response.status).toBe(200)
      const start = await startOf(response, snippet.prints?.trimEnd().length ?? 1)
      if (snippet.prints !== undefined) expect(start).toBe(snippet.prints.trimEnd())
    } finally {
      child.kill()
    }
  })
})

async function portOf(child: ChildProcess): Promise<number> {
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the program ended with ${code} before it listened`)
  })
  const [port] = (await Promise.race([once(child, 'message'), exited])) as [number]
  exited.catch(() => undefined)
  return port
}

async function startOf(response: Response, length: number): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader !== undefined && text.length < length) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel()
  return text.slice(0, length)
}

describe('the reader of pages', () => {
  const page = [
    '<!-- run -->',
    '```js',
    'console.log(1)',
    '```',
    '<!-- prints -->',
    '```text',
    '1',
    '```',
    'Then',
    '<!-- continues -->',
    '```js',
    'console.log(2)',
    '```',
    '<!-- given bus -->',
    '```ts',
    'bus.end()',
    '```',
  ].join('\n')

  test('takes a page apart into files', () => {
    const [first, second, ...more] = snippetsOf(fencesOf('page.md', page))
    expect(first).toMatchObject({ run: 'run', prints: '1', text: 'console.log(1)\nconsole.log(2)' })
    expect(second).toMatchObject({
      run: 'no',
      extension: 'mts',
      text: expect.stringMatching(/^declare .*\nbus/),
    })
    expect(more).toEqual([])
  })

  test.each([
    ['```\nno language\n```', 'unknown language'],
    ['<!-- rum -->\n```js\n```', 'unknown directive'],
    ['<!-- given nothing -->\n```ts\n```', 'not in GIVEN'],
    ['<!-- run -->\n```sh\n```', 'is for code'],
    ['<!-- prints -->\n```text\n```', 'behind code'],
  ])('objects to %j', (text, objection) => {
    expect(mistakesOf(fencesOf('page.md', text))).toEqual([expect.stringContaining(objection)])
  })
})
