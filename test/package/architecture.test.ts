import { describe, expect, test } from 'vitest'
import { cyclesOf, readSources, unitOf } from './support/source.ts'

interface Allowance {
  readonly values: readonly string[]
  /** Imports that leave nothing at run time. */
  readonly types: readonly string[]
}

/**
 * What each part of `src` may import beside itself and `internal`. An entry stands on what is below it only: a new row
 * here is a decision about the shape of the package, not a repair of this test.
 */
const MAY_IMPORT: Record<string, Allowance> = {
  internal: { values: [], types: [] },
  core: { values: [], types: [] },
  sse: { values: [], types: ['core'] },
  'last-event-id': { values: [], types: [] },
  web: { values: ['core', 'sse', 'last-event-id'], types: [] },
  node: { values: ['core', 'sse', 'last-event-id', 'web'], types: [] },
  client: { values: [], types: ['core'] },
  session: { values: [], types: ['core'] },
  mcp: { values: ['core'], types: [] },
  acp: { values: ['core', 'last-event-id', 'session', 'web', 'client'], types: [] },
  redis: { values: ['core'], types: [] },
  router: { values: ['core'], types: [] },
}

/** Packages that the build puts into the package itself, with their notice. */
const BUNDLED = ['client/blocks.ts imports eventsource-parser']

const MAX_LINES = 300

const files = readSources()
const outsideNode = files.filter((file) => file.unit !== 'node' && file.unit !== 'redis')

describe('the source', () => {
  test('is there', () => {
    expect(new Set(files.map((file) => file.unit))).toEqual(new Set(Object.keys(MAY_IMPORT)))
  })

  test('imports downwards only', () => {
    const upward = files.flatMap((file) => {
      const allowed = MAY_IMPORT[file.unit] as Allowance
      const values = [file.unit, 'internal', ...allowed.values]
      const types = [...values, ...allowed.types]
      return file.imports
        .filter((one) => one.local && !(one.typeOnly ? types : values).includes(unitOf(one.target)))
        .map((one) => `${file.path} imports ${one.typeOnly ? 'types of ' : ''}${one.target}`)
    })
    expect(upward).toEqual([])
  })

  test('has no cycle', () => {
    expect(cyclesOf(files, (one) => !one.typeOnly)).toEqual([])
  })

  test('imports no package but what is bundled', () => {
    const packages = files.flatMap((file) =>
      file.imports
        .filter((one) => !one.local && !one.target.startsWith('node:'))
        .map((one) => `${file.path} imports ${one.target}`),
    )
    expect(packages).toEqual(BUNDLED)
  })

  test('asks nothing of Node outside the entries for Node and Redis', () => {
    const ofNode = [
      'Buffer',
      'process',
      'require',
      'global',
      '__dirname',
      '__filename',
      'setImmediate',
      'NodeJS',
    ]
    const asked = outsideNode.flatMap((file) => [
      ...file.imports
        .filter((one) => one.target.startsWith('node:'))
        .map((one) => `${file.path} imports ${one.target}`),
      ...ofNode.filter((name) => file.freeNames.has(name)).map((name) => `${file.path} uses ${name}`),
    ])
    expect(asked).toEqual([])
  })

  test('writes nothing to the console', () => {
    expect(files.filter((file) => file.freeNames.has('console')).map((file) => file.path)).toEqual([])
  })

  test('tells no object of another entry by its class, which another bundle of the package would not share', () => {
    const told = files.flatMap((file) =>
      file.imports
        .filter((one) => one.local && unitOf(one.target) !== file.unit)
        .flatMap((one) => one.names.filter((name) => file.instanceOf.includes(name)))
        .map((name) => `${file.path}: instanceof ${name}`),
    )
    expect(told).toEqual([])
  })

  test(`has no file of more than ${MAX_LINES} lines`, () => {
    const long = files.filter((file) => file.lines > MAX_LINES)
    expect(long.map((file) => `${file.path}: ${file.lines}`)).toEqual([])
  })
})
