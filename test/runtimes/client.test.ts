import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeInBrowser, launchBrowser } from '../demo/browser.ts'
import { copyPrograms, run, usePackedProject } from '../package/support/project.ts'
import { READ } from './client-expected.ts'
import { type ClientServer, startClientServer } from './client-server.ts'
import { NODES, runtime, SKIPPED } from './installed.ts'
import { startWorker } from './workerd.ts'

const project = usePackedProject()
let server: ClientServer

beforeAll(async () => {
  await copyPrograms(project(), 'test/runtimes')
  server = await startClientServer(project())
})

afterAll(() => server.close())

async function readBy(name: string, ...args: string[]): Promise<unknown> {
  const { stdout, stderr } = await run(project(), runtime(name), [
    ...args,
    'client.mjs',
    server.origin,
    name.replaceAll('/', '-'),
  ])
  expect.soft(stderr).toBe('')
  return JSON.parse(stdout)
}

describe.skipIf(SKIPPED !== undefined)('the client reads one Node server', () => {
  test.each(NODES)('under %s', async (name) => {
    expect(await readBy(name)).toEqual(READ)
  })

  test('under Bun', async () => {
    expect(await readBy('@oven/bun-linux-x64')).toEqual(READ)
  })

  test('under Deno', async () => {
    const flags = ['--node-modules-dir=manual', '--no-remote', '--no-lock', '--quiet', '--no-prompt']
    expect(await readBy('@deno/linux-x64-glibc', 'run', ...flags, '--allow-net=127.0.0.1')).toEqual(READ)
  })

  test('in a Worker', async () => {
    const worker = await startWorker(project())
    try {
      const response = await fetch(`${worker.origin}/client?origin=${server.origin}`)
      expect(await response.json()).toEqual(READ)
    } finally {
      await worker.stop()
    }
  })
})

describeInBrowser('the client reads one Node server', () => {
  test('in Chromium', async () => {
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(`${server.origin}/page`)
      // As text: a function would be rewritten by whatever runs this file.
      const read = await page.evaluate(`(async () => {
        const client = await import('/dist/client.js')
        const { clientScenario } = await import('/client-scenario.mjs')
        return clientScenario(client, location.origin, 'chromium')
      })()`)
      expect(read).toEqual(READ)
    } finally {
      await browser.close()
    }
  })
})
