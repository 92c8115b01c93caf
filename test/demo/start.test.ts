import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Demo, endAll, startDemo } from './demo.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
/** For a machine that is busy with other tests; nothing is asserted of how long it takes. */
const PATIENCE = { timeout: 30_000 }
let demo: Demo | undefined
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'resumable-bus-start-'))
})

afterEach(async () => {
  await demo?.stop()
  demo = undefined
  endAll()
  rmSync(folder, { recursive: true, force: true })
})

const linesOf = (running: Demo, count: number) =>
  vi.waitFor(async () => {
    const { source } = await running.stats()
    expect(source.lines).toBe(count)
    return source
  }, PATIENCE)

/** Status of a request with headers that `fetch` would not send. */
const statusOf = (url: string, method: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(url, { method, headers }, (res) => {
      res.resume()
      resolve(res.statusCode)
    })
      .on('error', reject)
      .end()
  })

describe('the source of events', () => {
  it('is the machine where standard input is neither pipe nor file', async () => {
    demo = await startDemo()
    await vi.waitFor(async () => expect((await demo?.stats())?.bus.lastEventId).toBeGreaterThan(3), PATIENCE)
    expect((await demo.stats()).source).toMatchObject({ kind: 'figures', ended: false })
  })

  it('is a pipe that has not said anything yet, and no figures meanwhile', async () => {
    demo = await startDemo({ input: 'pipe' })
    expect((await demo.stats()).source).toMatchObject({ kind: 'input', ended: false, lines: 0 })
    demo.send('one')
    expect(await linesOf(demo, 1)).toMatchObject({ ended: false })
    expect((await demo.stats()).bus.lastEventId).toBe(1)
  })

  it('is a file, whose last line needs no end', async () => {
    const file = join(folder, 'some.log')
    writeFileSync(file, 'one\r\ntwo\n\nfour')
    demo = await startDemo({ input: { file } })
    await vi.waitFor(async () => expect((await demo?.stats())?.source.ended).toBe(true), PATIENCE)
    expect(await linesOf(demo, 4)).toMatchObject({ kind: 'input' })
  })

  it('is an empty file as well: it has ended', async () => {
    const file = join(folder, 'empty.log')
    writeFileSync(file, '')
    demo = await startDemo({ input: { file } })
    await vi.waitFor(async () => expect((await demo?.stats())?.source.ended).toBe(true), PATIENCE)
  })
})

describe('the server', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends cleanly at %s while a client is connected',
    async (signal) => {
      demo = await startDemo()
      const stream = await fetch(`${demo.url}/events?client=a`)
      const body = stream.text()
      expect(await demo.stop(signal)).toBe(0)
      expect(await body).toMatch(/^retry: \d+\n\nid: .*\nevent: cursor\ndata:\n\n/)
    },
  )

  it('takes the next port where its own is taken, and says that one', async () => {
    const first = await startDemo({ port: '' })
    demo = await startDemo({ port: '' })
    expect(demo.url).not.toBe(first.url)
    await first.stop()
  })

  it('names the variable that it cannot use', async () => {
    await expect(startDemo({ port: 'http' })).rejects.toThrow(/PORT must be a whole number/)
  })

  it('refuses pages of other origins and rebound names, so that nobody else reads the lines', async () => {
    demo = await startDemo()
    const events = `${demo.url}/events?client=a`
    expect(await statusOf(events, 'GET', { Host: 'rebound.example' })).toBe(403)
    expect(await statusOf(events, 'GET', { Origin: 'http://other.example' })).toBe(403)
    expect(await statusOf(`${demo.url}/restart?client=a`, 'POST', { Origin: 'http://other.example' })).toBe(
      403,
    )
  })

  it('answers what it does not know with an error and goes on', async () => {
    demo = await startDemo()
    expect(await statusOf(`${demo.url}/../../package.json`, 'GET', {})).toBe(404)
    expect(await statusOf(`${demo.url}/start.mjs`, 'GET', {})).toBe(404)
    expect(await statusOf(`${demo.url}/events`, 'GET', {})).toBe(400)
    expect(await statusOf(`${demo.url}/events?client=a&reader=other`, 'GET', {})).toBe(400)
    expect(await statusOf(`${demo.url}/cut?client=nobody`, 'POST', {})).toBe(404)
    expect(await statusOf(`${demo.url}/cut?client=nobody`, 'GET', {})).toBe(405)
    expect(await statusOf(`${demo.url}//`, 'GET', {})).toBe(404)
    expect(await statusOf(demo.url, 'GET', {})).toBe(200)
  })

  it('serves of the build what a page imports for the client, and nothing else', async () => {
    demo = await startDemo()
    const { url } = demo
    const client = await (await fetch(`${url}/dist/client.js`)).text()
    const imported = [...client.matchAll(/from '\.(\/[^']+)'/g)].map(([, path]) => `${url}/dist${path}`)
    for (const address of imported) expect((await fetch(address)).status, address).toBe(200)
    for (const path of ['node.js', 'client.d.ts', 'chunk-NONE.js', '../package.json']) {
      expect(await statusOf(`${url}/dist/${path}`, 'GET', {}), path).toBe(404)
    }
  })

  it('serves its state with the cursor of the last event in it', async () => {
    demo = await startDemo({ input: 'pipe' })
    demo.send('one', 'two')
    await linesOf(demo, 2)
    const { bus } = await demo.stats()
    expect(await (await fetch(`${demo.url}/snapshot`)).json()).toEqual({
      cursor: `${bus.epoch}:2`,
      total: 2,
      kinds: { line: { count: 2, last: 'two' } },
    })
  })
})

describe('the set-up before it', () => {
  /** A clone with a stand-in for npm that takes all the standard input it can get. */
  function clone({ build = 'ok' } = {}) {
    mkdirSync(join(folder, 'src'))
    writeFileSync(join(folder, 'src', 'index.ts'), '')
    cpSync(join(root, 'examples'), join(folder, 'examples'), { recursive: true })
    for (const name of ['package.json', 'package-lock.json', 'tsup.config.ts', 'tsconfig.json']) {
      cpSync(join(root, name), join(folder, name))
    }
    const npm = join(folder, 'npm-cli.cjs')
    writeFileSync(
      npm,
      `const fs = require('node:fs')
      fs.readFileSync(0)
      fs.appendFileSync('npm-calls', process.argv[2] + '\\n')
      if (process.argv[2] === 'ci') {
        fs.mkdirSync('node_modules', { recursive: true })
        fs.writeFileSync('node_modules/.package-lock.json', '')
      } else if ('${build}' === 'ok') {
        fs.cpSync(${JSON.stringify(join(root, 'dist'))}, 'dist', { recursive: true })
      } else {
        console.error('src/index.ts(1,1): error')
        process.exit(2)
      }`,
    )
    const calls = () => readFileSync(join(folder, 'npm-calls'), 'utf8')
    return { start: join(folder, 'examples', 'live', 'start.mjs'), env: { npm_execpath: npm }, calls }
  }

  /** Builds this checkout where that is due: the stand-in copies the result. */
  beforeEach(async () => {
    await (await startDemo()).stop()
  })

  it('installs and builds a fresh clone, and leaves standard input to the events', async () => {
    const { start, env, calls } = clone()
    const file = join(folder, 'some.log')
    writeFileSync(file, 'one\ntwo\n')
    demo = await startDemo({ start, env, input: { file } })
    expect(calls()).toBe('ci\nrun\n')
    await linesOf(demo, 2)
  })

  it('does nothing the second time', async () => {
    const { start, env, calls } = clone()
    await (await startDemo({ start, env })).stop()
    await (await startDemo({ start, env })).stop()
    expect(calls()).toBe('ci\nrun\n')
  })

  it('builds again after a change in src', async () => {
    const { start, env, calls } = clone()
    await (await startDemo({ start, env })).stop()
    const later = Date.now() / 1000 + 10
    utimesSync(join(folder, 'src', 'index.ts'), later, later)
    await (await startDemo({ start, env })).stop()
    expect(calls()).toBe('ci\nrun\nrun\n')
  })

  it('installs again where the lock file is newer than the install', async () => {
    const { start, env, calls } = clone()
    await (await startDemo({ start, env })).stop()
    utimesSync(join(folder, 'node_modules', '.package-lock.json'), 1, 1)
    await (await startDemo({ start, env })).stop()
    expect(calls()).toBe('ci\nrun\nci\n')
  })

  it('leaves alone what is linked in from another checkout, however old', async () => {
    const { start, env, calls } = clone()
    const other = join(folder, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'kept'), '')
    symlinkSync(other, join(folder, 'node_modules'))
    await (await startDemo({ start, env })).stop()
    expect(calls()).toBe('run\n')
    expect(readdirSync(other)).toEqual(['kept'])
  })

  it('shows what a failing step said and does not serve', async () => {
    const { start, env } = clone({ build: 'fails' })
    await expect(startDemo({ start, env })).rejects.toThrow(
      /building.*failed[\s\S]*src\/index\.ts\(1,1\): error/,
    )
  })
})
