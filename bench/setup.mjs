/** What a run needs and a fresh clone has not: the tools, the peers, the built package. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

export function setUp() {
  if (!existsSync(`${root}/node_modules/.package-lock.json`)) npm('ci')
  if (outdated(`${root}/bench/node_modules/.package-lock.json`, [`${root}/bench/package-lock.json`])) {
    npm('ci', '--prefix', 'bench')
  }
  if (outdated(`${root}/dist/index.js`, [`${root}/src`, `${root}/tsup.config.ts`])) npm('run', 'build')
}

function outdated(product, sources) {
  if (!existsSync(product)) return true
  const built = statSync(product).mtimeMs
  return sources.some((source) => newest(source) > built)
}

function newest(path) {
  const own = statSync(path)
  if (!own.isDirectory()) return own.mtimeMs
  return Math.max(own.mtimeMs, ...readdirSync(path).map((name) => newest(`${path}/${name}`)))
}

function npm(...args) {
  console.error(`npm ${args.join(' ')}`)
  // Output goes to stderr: stdout is the table's, or the JSON's.
  const { status, error } = spawnSync('npm', args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (error) throw error
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}`)
}
