import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'

const SOURCE = join(import.meta.dirname, '../../src')

/** Runs a script that imports from the sources in a process of its own. */
async function run(script: string): Promise<{ code: number | null; output: string; ms: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'exit-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const entry = join(folder, 'entry.mjs')
  await writeFile(entry, script.replaceAll('SRC', SOURCE))
  const outfile = join(folder, 'bundle.mjs')
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'error',
  })
  const child = spawn(process.execPath, [outfile], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let start = performance.now()
  const note = (chunk: Buffer) => {
    if (output === '') start = performance.now()
    output += chunk.toString()
  }
  child.stdout.on('data', note)
  child.stderr.on('data', note)
  const overdue = setTimeout(() => child.kill(), 8000)
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  clearTimeout(overdue)
  return { code, output, ms: performance.now() - start }
}

describe('a process', () => {
  it('exits by itself though a stream with heartbeats was never consumed', async () => {
    const { code, output, ms } = await run(`
      import { EventBus } from 'SRC/index.ts'
      import { sseResponse, sseTransport } from 'SRC/web/index.ts'
      const bus = new EventBus()
      globalThis.kept = [
        sseResponse(bus, new Request('http://h/'), { heartbeatMs: 8000 }),
        sseResponse(bus, new Request('http://h/', { headers: { 'Last-Event-ID': '0' } }), { heartbeatMs: 0 }),
        sseTransport(new Request('http://h/')),
      ]
      bus.publish({ type: 'note' })
      console.log('end of script', bus.subscriberCount)
    `)
    expect(output).toContain('end of script 2')
    expect(code).toBe(0)
    expect(ms).toBeLessThan(1500)
  })

  it('exits after `bus.close()` and `server.close()`, with clients that would have stayed', async () => {
    const { code, output } = await run(`
      import { createServer } from 'node:http'
      import { connect } from 'node:net'
      import { EventBus } from 'SRC/index.ts'
      import { serveSse } from 'SRC/node/index.ts'
      const bus = new EventBus()
      const server = createServer((req, res) => void serveSse(bus, req, res))
      server.listen(0, '127.0.0.1', () => {
        for (let n = 0; n < 3; n++) {
          const socket = connect(server.address().port, '127.0.0.1')
          socket.write('GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: keep-alive\\r\\n\\r\\n')
          socket.resume()
        }
        const poll = setInterval(() => {
          if (bus.subscriberCount < 3) return
          clearInterval(poll)
          bus.publish({ type: 'note' })
          bus.close()
          server.close(() => {
            const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout')
            console.log('closed; timers:', timers.length)
          })
        }, 5)
      })
    `)
    expect(output).toContain('closed; timers: 0')
    expect(code).toBe(0)
  })
})
