import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Compilation, compile, type Fault, textOf } from './support/compile.ts'
import { entriesOf, link, neutralEntriesOf, ROOT, usePackedProject } from './support/project.ts'

const FIXTURES = join(ROOT, 'test/types/fixtures')

/** Fixtures that import the declarations of Node themselves. */
const NEEDS_NODE = ['node.ts']
/** `resolution-mode` is a word of `node16` alone. */
const NEEDS_NODE16 = ['other-format.ts']

interface Consumer {
  readonly title: string
  readonly folder: 'esm' | 'cjs'
  readonly resolution: Compilation['resolution']
}

const CONSUMERS: Consumer[] = [
  { title: 'an ES module under node16', folder: 'esm', resolution: 'node16' },
  { title: 'a CommonJS module under node16', folder: 'cjs', resolution: 'node16' },
  { title: 'a module under bundler', folder: 'esm', resolution: 'bundler' },
]

const project = usePackedProject()
const fixtures = (await readdir(FIXTURES)).filter((name) => name.endsWith('.ts'))

beforeAll(async () => {
  await link(project(), '@types/node', 'undici-types')
  for (const [folder, type] of [
    ['esm', 'module'],
    ['cjs', 'commonjs'],
  ] as const) {
    const directory = join(project().directory, folder)
    await mkdir(directory)
    await cp(FIXTURES, directory, { recursive: true })
    await writeFile(join(directory, 'package.json'), JSON.stringify({ type }))
    for (const entry of entriesOf(project())) {
      await writeFile(join(directory, aloneOf(entry)), `export * from 'resumable-bus${entry}'\n`)
    }
  }
})

function aloneOf(entry: string): string {
  return `alone${entry.replace('/', '-')}.ts`
}

function fixturesFor(consumer: Consumer, nodeTypes: boolean): string[] {
  return fixtures.filter(
    (name) =>
      (nodeTypes || !NEEDS_NODE.includes(name)) &&
      (consumer.resolution === 'node16' || !NEEDS_NODE16.includes(name)),
  )
}

function compiled(
  consumer: Consumer,
  nodeTypes: boolean,
  names: readonly string[],
  more: Partial<Compilation> = {},
): Fault[] {
  const directory = join(project().directory, consumer.folder)
  return compile({
    directory,
    files: names.map((name) => join(directory, name)),
    resolution: consumer.resolution,
    nodeTypes,
    ...more,
  })
}

describe.each(CONSUMERS)('for $title', (consumer) => {
  test('what must compile does and what must not does not, with the types of Node', () => {
    expect(compiled(consumer, true, fixturesFor(consumer, true)).map(textOf)).toEqual([])
  })

  test('and without the types of Node', () => {
    expect(compiled(consumer, false, fixturesFor(consumer, false)).map(textOf)).toEqual([])
  })
})

// The files that are read under bundler are those of the ES modules.
describe.each(CONSUMERS.filter(({ resolution }) => resolution === 'node16'))('for $title', (consumer) => {
  test('the declarations of each entry stand alone', () => {
    const needy = entriesOf(project()).filter((entry) => !neutralEntriesOf(project()).includes(entry))
    for (const entry of neutralEntriesOf(project())) {
      expect.soft(compiled(consumer, false, [aloneOf(entry)]).map(textOf)).toEqual([])
    }
    expect(compiled(consumer, true, needy.map(aloneOf)).map(textOf)).toEqual([])
  })

  test('and a server that has no library of the DOM can read all of them', () => {
    const faults = compiled(consumer, true, entriesOf(project()).map(aloneOf), {
      options: { lib: ['lib.es2022.d.ts'] },
    })
    expect(faults.map(textOf)).toEqual([])
  })
})

test('what must not compile fails for the reason that is written beside it', async () => {
  const consumer = CONSUMERS[0] as Consumer
  const texts = new Map<string, string>()
  for (const name of fixtures) texts.set(name, await readFile(join(FIXTURES, name), 'utf8'))
  const expected = [...texts].flatMap(([name, text]) => expectationsOf(name, text))
  expect(expected.length).toBeGreaterThan(30)

  const directory = join(project().directory, 'esm')
  const faults = compiled(consumer, true, fixtures, {
    replaced(path) {
      if (!path.startsWith(`${directory}/`)) return undefined
      return texts.get(basename(path))?.replaceAll('@ts-expect-error', '')
    },
  })
  expect(faults.map(({ file, line, code }) => `${file}:${line} ${code}`)).toEqual(expected)
})

/** `// @ts-expect-error TS2322: why` says what the next line is refused for. */
function expectationsOf(name: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    if (!line.includes('@ts-expect-error')) return []
    const code = /@ts-expect-error (TS\d+): \S/.exec(line)?.[1] ?? 'gives no code and reason'
    return [`${name}:${index + 2} ${code}`]
  })
}
