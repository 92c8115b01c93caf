/**
 * An agent that holds on to the port given as its first argument: as long as its socket is open, it is alive. It says who it
 * is there, its arguments included. `--deaf`: ignores SIGTERM and the end of its input. `--family`: starts a process of its
 * own, tethered and deaf. `--mortal`: ends in the middle of its first turn.
 */
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const [port, ...flags] = process.argv.slice(2)
const has = (flag) => flags.includes(flag)

const tether = connect(Number(port), '127.0.0.1')
tether.write(`${JSON.stringify(flags)}\n`)
if (has('--deaf')) process.on('SIGTERM', () => {})
if (has('--family')) {
  spawn(process.execPath, [process.argv[1], port, '--deaf', '--grandchild'], { stdio: 'ignore' }).unref()
}

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') say({ id, result: { protocolVersion: 1 } })
  if (method === 'session/new') say({ id, result: { sessionId: 'one' } })
  if (method !== 'session/prompt') return
  const content = { type: 'text', text: 'a word' }
  const update = { sessionUpdate: 'agent_message_chunk', content }
  say({ method: 'session/update', params: { sessionId: params.sessionId, update } })
  if (has('--mortal')) {
    process.stderr.write('out of words\n')
    process.exitCode = 7
    tether.end()
    lines.close()
    process.stdin.destroy()
  } else say({ id, result: { stopReason: 'end_turn' } })
})
if (!has('--deaf')) lines.on('close', () => tether.end())
