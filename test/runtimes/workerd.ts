/** The built package in workerd, bundled as the deployment tools for it do. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { build } from 'esbuild'
import type { Project } from '../package/support/project.ts'
import { runtime } from './installed.ts'

export interface Worker {
  readonly origin: string
  stop(): Promise<void>
}

export async function startWorker(project: Project): Promise<Worker> {
  await build({
    entryPoints: [join(project.directory, 'worker.mjs')],
    outfile: join(project.directory, 'worker.bundle.js'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
  })
  const args = ['serve', 'worker.capnp', '--socket-addr=http=127.0.0.1:0', '--control-fd=3']
  const child = spawn(runtime('@cloudflare/workerd-linux-64'), args, {
    cwd: project.directory,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const exited = once(child, 'exit')
  try {
    return {
      origin: `http://127.0.0.1:${await portOf(child)}`,
      async stop() {
        child.kill()
        await exited
      },
    }
  } catch (error) {
    child.kill()
    throw error
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
    const message = JSON.parse(line) as { event: string; socket?: string; port?: number }
    if (message.event === 'listen' && message.port !== undefined) return message.port
  }
  throw new Error('workerd ended before it listened')
}
