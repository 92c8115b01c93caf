/**
 * An ACP agent over standard input and output, made with the official SDK and without a model: it thinks aloud, asks
 * whether it may count the lines of the folder that it works in, counts them, and answers word by word. A turn takes about
 * ten seconds; `AGENT_PACE_MS` sets the pause between two words.
 */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { agent, ndJsonStream } from '@agentclientprotocol/sdk'

const PACE_MS = Number(process.env.AGENT_PACE_MS || 100)
/** Files that are counted, at most; a home directory is large. */
const MAX_FILES = 2000
const TEXT_FILE = /\.(ts|js|mjs|cjs|css|html|md|json)$/
const OPTIONS = [
  { optionId: 'allow', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
]

/** Session id → where it works, and what stops its turn. */
const sessions = new Map()

/** The folder's lines by kind of file, those of files that are installed or hidden left out. */
async function countLines(folder) {
  const lines = new Map()
  let files = 0
  const visit = async (path) => {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules' || files >= MAX_FILES) continue
      const inside = join(path, entry.name)
      if (entry.isDirectory()) await visit(inside)
      const kind = entry.isFile() ? TEXT_FILE.exec(entry.name)?.[1] : undefined
      if (kind === undefined) continue
      files += 1
      lines.set(kind, (lines.get(kind) ?? 0) + (await readFile(inside, 'utf8')).split('\n').length)
    }
  }
  await visit(folder)
  return { files, lines: [...lines].toSorted(([, one], [, other]) => other - one) }
}

const number = (value) => value.toLocaleString('en')

/** Numbered, so that a person sees at a glance that none is missing. */
function answerTo(question, folder, counted) {
  const found = counted
    ? `I counted ${counted.files} files in ${folder}, most of their lines in .${counted.lines[0]?.[0] ?? 'nothing'}.`
    : `I was not allowed to look into ${folder}, so I answer without figures.`
  return [
    `You asked: “${question}”`,
    found,
    'I am a process of my own, and I speak over my standard output.',
    'I know nothing of HTTP, and nothing of you being cut off.',
    'Each of these words is a notification with a number.',
    'While you are away I keep talking, and the bridge keeps what I say.',
    'You come back with the last number that you have seen.',
    'What you missed is sent first, each word once and in order.',
    'What I say meanwhile waits behind it.',
    'A permission that I asked for comes again with the same id.',
    'One that you answered is not asked again.',
    'My last message, the reply to your prompt, comes when all words have come.',
  ]
    .map((sentence, index) => `${index + 1}. ${sentence}`)
    .join('\n')
}

/** With what follows each word, so that together they are the text. */
const wordsOf = (text) => text.match(/\S+\s*/g) ?? []

async function takeTurn({ sessionId, prompt }, client, { cwd, signal }) {
  const question = prompt.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join(' ')
  const update = (what) => client.notify('session/update', { sessionId, update: what })
  const say = async (sessionUpdate, text) => {
    for (const word of wordsOf(text)) {
      await update({ sessionUpdate, content: { type: 'text', text: word } })
      await delay(PACE_MS, undefined, { signal })
    }
  }

  await say(
    'agent_thought_chunk',
    'A question. Figures of this folder would make a better answer, so I ask first.',
  )

  const toolCall = {
    toolCallId: crypto.randomUUID(),
    title: `Count the lines in ${basename(cwd)}`,
    kind: 'read',
  }
  await update({ ...toolCall, sessionUpdate: 'tool_call', status: 'pending' })
  const { outcome } = await client.request('session/request_permission', {
    sessionId,
    toolCall,
    options: OPTIONS,
  })
  signal.throwIfAborted()

  const change = (rest) =>
    update({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, ...rest })
  let counted
  if (outcome.outcome === 'selected' && outcome.optionId === 'allow') {
    await change({ status: 'in_progress' })
    counted = await countLines(cwd)
    const text = counted.lines.map(([kind, lines]) => `${number(lines)} lines of .${kind}`).join('\n')
    await delay(5 * PACE_MS, undefined, { signal })
    await change({ status: 'completed', content: [{ type: 'content', content: { type: 'text', text } }] })
  } else {
    await change({ status: 'failed' })
  }
  await say('agent_message_chunk', answerTo(question, basename(cwd), counted))
}

const connection = agent()
  .onRequest('initialize', () => ({
    protocolVersion: 1,
    agentInfo: { name: 'acp-bridge-example', title: 'the agent of this example', version: '1.0.0' },
  }))
  .onRequest('session/new', ({ params }) => {
    const sessionId = crypto.randomUUID()
    sessions.set(sessionId, { cwd: params.cwd, turn: undefined })
    return { sessionId }
  })
  .onNotification('session/cancel', ({ params }) => sessions.get(params.sessionId)?.turn?.abort())
  .onRequest('session/prompt', async ({ params, client }) => {
    const session = sessions.get(params.sessionId)
    if (session === undefined) throw new Error('no such session')
    session.turn?.abort()
    const turn = new AbortController()
    session.turn = turn
    try {
      await takeTurn(params, client, { cwd: session.cwd, signal: turn.signal })
      return { stopReason: 'end_turn' }
    } catch (error) {
      if (turn.signal.aborted) return { stopReason: 'cancelled' }
      throw error
    }
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

// Whoever started it is gone: a turn has nobody to talk to.
await connection.closed
process.exit()
