/**
 * `npm run bench`: one run, one table of what this library needs ÷ what the other needs.
 *
 *   --only <text>      the rows whose name holds the text (case is ignored), and only the contenders that they need
 *   --json             JSON on stdout instead of the table
 *   --cpu-prof <dir>   a CPU profile of each contender's process, for `--only` runs
 *
 * Why the figures can be believed:
 * - The built package in `dist` is measured, as an importing program gets it, with its defaults unless a row says else.
 * - A "limit" (`limits/`) is the least code that does the job without any policy. It makes the same frozen event per
 *   publish, keeps what must be kept, and hands a waiting consumer its value by its resolver. Where we knew two ways to
 *   write one, the faster one is the limit.
 * - Peers (`peers/`) are pinned in `package-lock.json`, used as their pages show, and given the cheaper way where there
 *   is a choice. They carry the same frozen events.
 * - The fixtures check what they measure: every consumer sees every id in order, every replay is complete, every HTTP
 *   client gets each event once. A contender that does less ends the run with an error instead of a good figure.
 * - Each contender has a process of its own. Sharing one, the second contender meets call sites that the first one made
 *   polymorphic and a heap that the first one shaped, and wins or loses by its place in the list.
 * - Each process is warmed before it is sampled; samples are taken in turn, A B C A B C …, so that a slower minute of
 *   the machine is everybody's; and the whole is repeated with fresh processes, since the compiler's luck differs from
 *   process to process by more than samples do. Figures are medians over all of that.
 * - Times are wall times, except for servers: there it is the CPU time of the server's process, with the clients in
 *   another one (see `fixtures/http.mjs`).
 *
 * A row that is missed is marked and does not fail the run: a loaded machine is no fault of the code. A fixture that
 * finds wrong deliveries does.
 */
import { parseArgs } from 'node:util'
import { runContest } from './contest.mjs'
import { contests } from './contests.mjs'
import { redisAnswers, redisUrl } from './redis-there.mjs'
import { judge, machine, table } from './report.mjs'
import { rows } from './rows.mjs'
import { setUp } from './setup.mjs'

const { values: args } = parseArgs({
  options: { only: { type: 'string' }, json: { type: 'boolean' }, 'cpu-prof': { type: 'string' } },
})

const wanted = args.only?.toLowerCase() ?? ''
const named = rows.filter(({ what, against }) => `${what}, ${against}`.toLowerCase().includes(wanted))
const selected = (await redisAnswers()) ? named : named.filter(({ contest }) => !contest.startsWith('redis'))
if (selected.length < named.length) {
  console.error(
    `no Redis at ${redisUrl}: its rows are left out; \`redis-server\` starts one, REDIS_URL names another`,
  )
}
if (selected.length === 0) {
  console.error(`no row holds "${args.only}"; the rows are:`)
  for (const { what, against } of rows) console.error(`  ${what}, ${against}`)
  process.exit(1)
}

setUp()

const on = machine()
const start = Date.now()
const results = new Map()
for (const name of new Set(selected.map(({ contest }) => contest))) {
  const needed = new Set(
    selected.filter(({ contest }) => contest === name).flatMap(({ ours, other }) => [ours, other]),
  )
  const contest = contests[name]
  const contenders = Object.entries(contest.contenders).filter(([contender]) => needed.has(contender))
  const began = Date.now()
  results.set(
    name,
    await runContest({ ...contest, contenders: Object.fromEntries(contenders) }, args['cpu-prof']),
  )
  console.error(`${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`)
}

const judged = selected.map((row) => judge(row, results.get(row.contest)))
const seconds = Math.round((Date.now() - start) / 1000)
if (args.json) console.log(JSON.stringify({ machine: on, seconds, rows: judged }, null, 2))
else console.log(`${on}, ${seconds} s\n${table(judged)}`)
