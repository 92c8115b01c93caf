/** The package as a user gets it: packed by npm and unpacked into a project of its own, without a registry. */

import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll } from 'vitest'

const execute = promisify(execFile)

/** The checkout that these tests stand in. */
export const ROOT = join(import.meta.dirname, '../../..')

export interface PackedFile {
  readonly path: string
  readonly size: number
}

export interface Manifest {
  readonly [field: string]: unknown
  readonly exports: Readonly<Record<string, unknown>>
}

export interface Project {
  /** A folder outside the checkout whose `node_modules` holds the package and nothing else. */
  readonly directory: string
  readonly packageDirectory: string
  readonly tarball: string
  readonly files: readonly PackedFile[]
  readonly manifest: Manifest
}

/** Entries of the manifest's `exports` map, as a user writes them behind the package's name: '' for the root. */
export function entriesOf(project: Project): string[] {
  return Object.keys(project.manifest.exports)
    .filter((key) => key !== './package.json')
    .map((key) => key.slice(1))
}

/** The entries that promise to run on every runtime. */
export function neutralEntriesOf(project: Project): string[] {
  return entriesOf(project).filter((entry) => entry !== '/node' && entry !== '/redis')
}

/** One packed project for the tests of a file, removed afterwards. */
export function usePackedProject(): () => Project {
  let project: Project | undefined
  beforeAll(async () => {
    project = await createProject()
  })
  afterAll(async () => {
    if (project !== undefined) await rm(project.directory, { recursive: true, force: true })
  })
  return () => {
    if (project === undefined) throw new Error('the package is packed in beforeAll')
    return project
  }
}

export async function createProject(): Promise<Project> {
  await requireFreshBuild()
  const directory = await mkdtemp(join(tmpdir(), 'resumable-bus-'))
  const packed = await execute(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', directory],
    {
      cwd: ROOT,
    },
  )
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: PackedFile[] }]
  const tarball = join(directory, filename)
  const packageDirectory = join(directory, 'node_modules/resumable-bus')
  await mkdir(packageDirectory, { recursive: true })
  await execute('tar', ['-xzf', tarball, '-C', packageDirectory, '--strip-components=1'])
  const manifest = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as Manifest
  await writeFile(
    join(directory, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: { 'resumable-bus': '*' } }),
  )
  return { directory, packageDirectory, tarball, files, manifest }
}

/** Makes a development dependency of the checkout visible to the project. */
export async function link(project: Project, ...names: string[]): Promise<void> {
  for (const name of names) {
    const target = join(project.directory, 'node_modules', name)
    await mkdir(join(target, '..'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), target)
  }
}

/** Copies programs into the project, so that they find the package there. */
export async function copyPrograms(project: Project, folder: string): Promise<void> {
  await cp(join(ROOT, folder), project.directory, {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  })
}

export interface Run {
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program in the project to its own end. One that is not over in time fails the test: a timer or a socket that
 * keeps a process alive is a fault like any other.
 */
export async function run(project: Project, command: string, args: readonly string[]): Promise<Run> {
  return execute(command, [...args], {
    cwd: project.directory,
    timeout: 30_000,
    maxBuffer: 64 * 1024 * 1024,
    // A colour or an inspector asked for by the outer test run would show in what the program prints.
    env: { PATH: process.env.PATH, HOME: project.directory, NO_COLOR: '1' },
  })
}

/** Runs a program with this Node and reads the JSON it printed. */
export async function runJson<Result>(project: Project, ...args: string[]): Promise<Result> {
  const { stdout, stderr } = await run(project, process.execPath, args)
  // Node ends in silence where a promise that a CommonJS program waits for never settles.
  if (stdout === '') throw new Error(`${args[0]} ended without a result\n${stderr}`)
  return JSON.parse(stdout) as Result
}

/** A test of an old build would prove nothing about the source beside it. */
async function requireFreshBuild(): Promise<void> {
  const built = await stat(join(ROOT, 'dist/node.d.cts')).catch(() => undefined)
  if (built === undefined) throw new Error('dist is missing or incomplete: run `npm run build` first')
  for (const file of await readdir(join(ROOT, 'src'), { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    if ((await stat(path)).mtimeMs > built.mtimeMs) {
      throw new Error(`${path} is newer than dist: run \`npm run build\` first`)
    }
  }
}
