import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT, usePackedProject } from './support/project.ts'

// For its check that what was built is what stands in `src`.
usePackedProject()

test('the job system of examples/router accepts, rejects, reports progress, cancels, and leaves nothing', async () => {
  const program = join(ROOT, 'examples/router/main.mjs')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program])
  const lines = stdout.trim().split('\n')
  const of = (who: string) => lines.filter((line) => line.startsWith(who)).map((line) => line.slice(9))
  expect(stderr).toBe('')
  expect(of('job.1')).toEqual([
    'progress 1/3 fetch',
    'progress 2/3 parse',
    'progress 3/3 store',
    'done',
    'ended { cancelled: false }',
  ])
  expect(of('job.2')).toEqual(['progress 1/3 fetch', 'done', 'ended { cancelled: true }'])
  expect(of('refused')).toEqual(['no step is called guess', 'job.2 is not running'])
  expect(of('audit')).toEqual([
    'commands.start job.1',
    'commands.start job.2',
    'commands.cancel job.2',
    'commands.start job.3',
    'commands.cancel job.2',
  ])
  expect(lines.at(-1)).toBe('left     0 subscribers')
})
