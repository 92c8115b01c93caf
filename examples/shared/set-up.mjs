/**
 * What an example needs and a fresh clone has not: installs and builds where that is due.
 *
 * Nothing but Node is imported here, so a fresh clone needs no step before this one. The commands get no standard input:
 * what is piped in is the example's.
 */
import { spawn } from 'node:child_process'
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Milliseconds of the last change; 0 where nothing is there, so that it is older than anything. */
const changedAt = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

function newestIn(folder) {
  const inside = readdirSync(join(root, folder), { withFileTypes: true })
  return Math.max(
    0,
    ...inside.map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? newestIn(path) : changedAt(path)
    }),
  )
}

/**
 * npm writes its own copy of the lock file last, so a broken install is not taken for a whole one. A `node_modules` that
 * is a link belongs to another checkout: `npm ci` would follow it and empty that one.
 */
const installIsDue = () =>
  !lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink() &&
  changedAt('node_modules/.package-lock.json') < changedAt('package-lock.json')

const buildIsDue = () => {
  const built = Math.min(...['index', 'node', 'client', 'acp'].map((name) => changedAt(`dist/${name}.js`)))
  return built < Math.max(newestIn('src'), changedAt('tsup.config.ts'), changedAt('tsconfig.json'))
}

/** The npm that started us, by this very Node; the one on the path where another tool did. */
function npm(args) {
  const own = process.env.npm_execpath
  if (own?.includes('npm-cli')) return [process.execPath, [own, ...args], {}]
  return ['npm', args, { shell: process.platform === 'win32' }]
}

/** Runs one command of the set-up; shows its output only when it fails. */
async function step(what, args) {
  process.stdout.write(`  ${what} (npm ${args.join(' ')}) … `)
  const begun = performance.now()
  const [command, all, options] = npm(args)
  const child = spawn(command, all, { ...options, cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const stop = () => {
    child.kill()
    process.exit(143)
  }
  process.once('SIGTERM', stop)
  const output = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`))
      resolve(1)
    })
    child.once('close', resolve)
  })
  process.removeListener('SIGTERM', stop)
  if (code !== 0) {
    process.stdout.write('failed\n\n')
    process.stderr.write(Buffer.concat(output))
    process.exit(1)
  }
  process.stdout.write(`${((performance.now() - begun) / 1000).toFixed(1)} s\n`)
}

/** Resolves once the package can be imported; ends the process where it cannot be made. */
export async function setUp(title) {
  process.stdout.write(`\n  ${title}\n\n`)
  // The build needs the development dependencies, which NODE_ENV=production would leave out.
  if (installIsDue()) await step('installing', ['ci', '--include=dev'])
  if (buildIsDue()) await step('building', ['run', 'build'])
}
