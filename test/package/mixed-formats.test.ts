import { beforeAll, describe, expect, test } from 'vitest'
import { SCENARIO, SERVED } from '../runtimes/expected.ts'
import { copyPrograms, runJson, usePackedProject } from './support/project.ts'

type Direction = 'esmBusInCjs' | 'cjsBusInEsm'
type Mixed = Record<string, unknown>

const project = usePackedProject()
let results: { apart: boolean } & Record<Direction, Mixed>

beforeAll(async () => {
  await copyPrograms(project(), 'test/runtimes')
  await copyPrograms(project(), 'test/package/programs')
  results = await runJson(project(), 'mixed.mjs')
})

test('the two formats are two copies of the package', () => {
  expect(results.apart).toBe(true)
})

describe.each<[string, Direction]>([
  ['a bus of the ES modules in the adapters of CommonJS', 'esmBusInCjs'],
  ['a bus of CommonJS in the adapters of the ES modules', 'cjsBusInEsm'],
])('%s', (_title, direction) => {
  test('serves the same streams', () => {
    expect(results[direction].scenario).toEqual(SCENARIO)
    expect(results[direction].servers).toEqual({ serveSse: SERVED, toNodeHandler: SERVED })
    expect(results[direction].control).toBe(true)
  })

  test('tells its errors by code', () => {
    expect(results[direction].limit).toEqual({
      foreign: true,
      code: 'subscriber_limit_exceeded',
      limit: 1,
      told: true,
      status: 503,
    })
  })

  test('makes the JSON of an event once for all clients', () => {
    expect(results[direction].serialised).toEqual({ count: 1, asPublished: true })
  })

  test('makes it at publish where bytes are capped', () => {
    expect(results[direction].serialisedWithByteCap).toEqual({ count: 1, asPublished: true })
  })
})

test('both formats of the router, each with an index of its own, route on a bus of either', async () => {
  const routed = { got: ['0:1', '0:3', '1:1', '1:3'], accepted: true, timeout: 'await_timeout', left: 0 }
  const result = await runJson(project(), 'mixed-router.mjs')
  expect(result).toEqual({ esmBus: routed, cjsBus: routed })
})
