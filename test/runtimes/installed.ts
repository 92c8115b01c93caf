/** The runtimes that `npm run test:all` installs beside this file, as programs. None of them is on the PATH. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const INSTALL = 'npm ci --prefix test/runtimes'

const BINARIES: Record<string, string> = {
  '@oven/bun-linux-x64': 'bin/bun',
  '@deno/linux-x64-glibc': 'deno',
  '@cloudflare/workerd-linux-64': 'bin/workerd',
}

function binaryOf(name: string): string {
  return join(import.meta.dirname, 'node_modules', name, BINARIES[name] ?? 'bin/node')
}

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as {
  optionalDependencies: Record<string, string>
}

/** Package names, as in the manifest beside this file. */
export const RUNTIMES = Object.keys(manifest.optionalDependencies)

export const NODES = RUNTIMES.filter((name) => name.startsWith('node-'))

const missing = RUNTIMES.filter((name) => !existsSync(binaryOf(name)))

/**
 * Outside CI a runtime that is not there is a test that does not run, and says so. In CI it is a failure: a green run
 * would claim what was never tried.
 */
export const SKIPPED = process.env.CI ? undefined : reason()

function reason(): string | undefined {
  if (missing.length === 0) return undefined
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `the binaries of these tests are for linux x64, not for ${process.platform} ${process.arch}`
  }
  return `not installed: ${missing.join(', ')}; install with \`${INSTALL}\``
}

export function runtime(name: string): string {
  const binary = binaryOf(name)
  if (!existsSync(binary)) throw new Error(`${name} is not installed: run \`${INSTALL}\``)
  return binary
}
