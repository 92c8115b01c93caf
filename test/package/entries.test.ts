import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  copyPrograms,
  entriesOf,
  neutralEntriesOf,
  run,
  runJson,
  usePackedProject,
} from './support/project.ts'

const project = usePackedProject()

beforeAll(() => copyPrograms(project(), 'test/package/programs'))

/** What each entry exports at run time. A name that comes or goes is a change of the public surface: change it here. */
const SURFACE: Record<string, string[]> = {
  '': [
    'BoundedAsyncQueue',
    'EVENT_SCHEMA_VERSION',
    'EventBus',
    'SubscriberLimitExceededError',
    'isControlFrame',
  ],
  '/sse': ['formatSseComment', 'formatSseCursor', 'formatSseFields', 'formatSseFrame', 'formatSseRetry'],
  '/last-event-id': ['formatCursor', 'parseCursor', 'parseLastEventId'],
  '/web': ['sseResponse', 'sseTransport'],
  '/node': ['serveSse', 'sseTransport', 'toNodeHandler'],
  '/client': ['SseHttpError', 'connectBus', 'connectSse', 'createResyncGate'],
  '/session': ['ResumableSession', 'SessionRegistry', 'wsTransport'],
  '/acp': ['createAcpBridge', 'createAcpHttpStream'],
  '/redis': ['BackendUnavailableError', 'createRedisBus'],
  '/mcp': ['EventRejectedError', 'createEventStore'],
  '/router': [
    'AwaitService',
    'AwaitTimeoutError',
    'EventRouter',
    'bridgePort',
    'compilePattern',
    'matchEvents',
    'startRouter',
    'subscribe',
  ],
}

describe('every entry', () => {
  test('can be imported, with the names of the contract', async () => {
    const names = await runJson<Record<string, string[]>>(project(), 'names.mjs', ...entriesOf(project()))
    expect(names).toEqual(SURFACE)
  })

  test('can be required, with the same names', async () => {
    const names = await runJson<Record<string, string[]>>(project(), 'names.cjs', ...entriesOf(project()))
    expect(names).toEqual(SURFACE)
  })

  test('loads without a warning and lets the process end', async () => {
    for (const program of ['names.mjs', 'names.cjs']) {
      const { stderr } = await run(project(), process.execPath, [program, ...entriesOf(project())])
      expect.soft(stderr, program).toBe('')
    }
  })

  test('shares its modules with the others, in both formats', async () => {
    for (const program of ['shared.mjs', 'shared.cjs']) {
      expect.soft(await runJson(project(), program), program).toEqual({ serialised: 1 })
    }
  })

  test('leaves the manifest readable', async () => {
    const { stdout } = await run(project(), process.execPath, [
      '-p',
      "require('resumable-bus/package.json').name",
    ])
    expect(stdout.trim()).toBe('resumable-bus')
  })
})

describe('an entry for every runtime', () => {
  test('reaches no module of Node, in neither format', async () => {
    for (const entry of neutralEntriesOf(project())) {
      for (const end of ['js', 'cjs']) {
        const reached = await moduleGraph(`dist/${entry.slice(1) || 'index'}.${end}`)
        expect.soft(reached.outside, `${entry} ${end}`).toEqual([])
        for (const text of reached.texts) expect.soft(text).not.toMatch(/node:|\bBuffer\b|\bprocess\b/)
      }
    }
  })

  test('does nothing at import: no timer, clock, random value, request or AbortController', async () => {
    for (const program of ['refused-at-import.mjs', 'refused-at-import.cjs']) {
      const result = await runJson(project(), program, ...neutralEntriesOf(project()))
      expect.soft(result, program).toEqual({ called: [], built: true })
    }
  })
})

interface ModuleGraph {
  readonly texts: string[]
  readonly outside: string[]
}

/** All files of the package that a file reaches, without their comments, and what it asks of others. */
async function moduleGraph(file: string): Promise<ModuleGraph> {
  const { packageDirectory } = project()
  const { metafile, outputFiles } = await build({
    entryPoints: [join(packageDirectory, file)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    legalComments: 'none',
    metafile: true,
    write: false,
  })
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports)
  return {
    texts: outputFiles.map((output) => withoutComments(output.text)),
    outside: imports.filter((one) => one.external).map((one) => one.path),
  }
}

function withoutComments(text: string): string {
  return text.replace(/^\s*\/\/.*$/gm, '').replace(/\/\*[\s\S]*?\*\//g, '')
}
