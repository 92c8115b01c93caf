/** Ties the client's stream to the page: a prompt, its turn, the permission in it, and the cut. */
import { createAcpHttpStream } from '/dist/acp.js'
import { createBooks } from './books.js'
import { createLog } from './log.js'
import { createPeer } from './peer.js'
import { createTalk } from './talk.js'
import { createTap } from './tap.js'
import { counted, number, seconds, write } from './text.js'

const page = Object.fromEntries([...document.querySelectorAll('[id]')].map((found) => [found.id, found]))
/** Tells the server which connections are this page's. */
const client = [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => byte.toString(36)).join('')
const headers = { 'Demo-Page': client }
const ask = async (path, init) => (await fetch(path, { ...init, headers })).json()

const log = createLog(page.happened)
const talk = createTalk(page.turns)

/** One connection with its agent, from its start to its end. */
let life
let cuts = 0

async function start() {
  const controller = new AbortController()
  const books = createBooks()
  life = { controller, books, sessionId: undefined, peer: undefined, isAtWork: false, isAway: false }
  show('connecting', 'Starting', 'The agent is being started.')
  const own = life
  try {
    const { agent, cwd } = await ask('books')
    write(page.source, `Agent: ${agent}`)
    await connect(own, cwd)
  } catch (error) {
    await ended(own, error)
  }
}

async function connect(own, cwd) {
  const { controller, books } = own
  const stream = createAcpHttpStream(new URL('acp', location.href), {
    headers,
    fetch: createTap({ onAnswer, onLost, onReturn, onReplayed }),
    signal: controller.signal,
    retryMs: 500,
    maxRetryMs: 2000,
    onRetry({ attempt, delayMs }) {
      if (own.isAway)
        write(page['state-text'], `Try ${attempt + 1} in ${seconds(delayMs)}, with the last id that came.`)
    },
  })
  const peer = createPeer(stream, {
    onNotification(method, params) {
      if (method === 'session/update') {
        const { delivery, isLast } = books.take(params.update)
        talk.update(params.update, delivery)
        if (isLast) caughtUp()
      } else if (method === '_resumable_bus/state_resync_required') {
        talk.fault('Not all of it can be replayed.', 'What was said meanwhile has left the ring.')
      }
      count()
    },
    async onRequest(method, params, signal) {
      const { delivery, isLast } = books.take()
      const answer =
        method === 'session/request_permission' ? talk.permission(params, signal, delivery) : undefined
      if (isLast) caughtUp()
      count()
      return answer
    },
  })
  own.peer = peer
  peer.over.catch((error) => ended(own, error))
  await peer.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  own.sessionId = (await peer.request('session/new', { cwd, mcpServers: [] })).sessionId
  showIdle()

  function onAnswer({ name, status, cursor }) {
    const text = status === 0 ? 'no answer, sent again' : `${status}`
    const from = cursor === undefined || cursor === '0' ? '' : `, Last-Event-ID ${cursor.split(':').at(-1)}`
    log.add({ kind: status === 0 || status >= 400 ? 'warning' : 'note', title: name, text: `${text}${from}` })
  }

  function onLost() {
    own.isAway = true
    talk.cut()
    log.add({ kind: 'warning', title: 'The stream broke off', text: '' })
    show('lost', 'Cut off', 'The agent talks on; the bridge keeps what it says.')
  }

  function onReturn() {
    own.isAway = false
    books.returned()
    talk.returned()
    show('replaying', 'Replaying', 'What was missed comes first, each message once.')
  }

  function onReplayed(replayed) {
    books.complete(replayed)
    own.replayed = replayed
    log.add({ kind: 'replay', title: 'Replay complete', text: counted(replayed, 'message') })
    if (books.isCaughtUp) caughtUp()
  }

  function caughtUp() {
    talk.live(own.replayed)
    if (own.isAtWork) showAtWork()
    else showIdle()
  }
}

async function prompt(text) {
  const own = life
  own.isAtWork = true
  page.hint?.remove()
  talk.asked(text)
  showAtWork()
  const cutsBefore = cuts
  const replayedBefore = own.books.replayed
  try {
    const { stopReason } = await own.peer.request('session/prompt', {
      sessionId: own.sessionId,
      prompt: [{ type: 'text', text }],
    })
    own.isAtWork = false
    await judge(own, stopReason, cuts - cutsBefore, own.books.replayed - replayedBefore)
    showIdle()
  } catch (error) {
    own.isAtWork = false
    if (own !== life || own.isOver) return
    talk.fault('The agent could not answer.', error.message)
    showIdle()
  }
}

/** What came is held against what the agent said, which the server noted before the bridge had it. */
async function judge({ books }, stopReason, turnCuts, replayed) {
  const said = await ask('books')
  const isComplete = books.isComplete(said)
  const how = stopReason === 'end_turn' ? 'Complete' : `Over (${stopReason.replaceAll('_', ' ')})`
  const came = isComplete ? 'all of them came once and in order' : `${number(books.updates)} came`
  const past =
    turnCuts > 0 ? `, ${number(replayed)} of this turn by replay after ${counted(turnCuts, 'cut')}` : ''
  talk.verdict(`${how}. The agent has said ${counted(said.said, 'update')}; ${came}${past}.`, isComplete)
  write(page.missing, number(books.missing(said)))
  page.missing.parentElement.classList.toggle('bad', !isComplete)
}

/** The connection is over, and with it its agent. */
async function ended(own, error) {
  if (own.isOver) return
  own.isOver = true
  own.controller.abort()
  talk.withdraw()
  const { fault } = await ask('fault').catch(() => ({ fault: 'The server does not answer.' }))
  const text = fault ?? error.message
  show('evicted', 'No agent', text)
  log.add({ kind: 'error', title: 'The connection is over', text })
  talk.fault('The connection is over.', text, { name: 'Start again', act: start })
}

async function cut() {
  cuts += 1
  count()
  try {
    const { awayMs } = await ask('cut', { method: 'POST' })
    log.add({ kind: 'action', title: 'You cut the connection', text: `for ${seconds(awayMs)}` })
  } catch {
    // The stream finds out that nobody answers, and says so.
  }
}

function count() {
  write(page.updates, number(life.books.updates))
  write(page.replayed, number(life.books.replayed))
  write(page.cuts, number(cuts))
}

function showIdle() {
  if (!life.isOver && !life.isAway) show('live', 'Connected', 'Ready for a prompt.')
}

function showAtWork() {
  show('live', 'Connected', 'The agent is at work.')
}

function show(state, name, text) {
  page.state.dataset.state = state
  write(page['state-name'], name)
  write(page['state-text'], text)
  const isUsable = life.sessionId !== undefined && !life.isOver
  page.cut.disabled = !isUsable || life.isAway
  page.stop.disabled = !isUsable || !life.isAtWork
  page.send.disabled = !isUsable || life.isAtWork
}

page.cut.addEventListener('click', cut)
page.stop.addEventListener('click', () => {
  life.peer.notify('session/cancel', { sessionId: life.sessionId })
  talk.withdraw()
})
page.ask.addEventListener('submit', (event) => {
  event.preventDefault()
  const text = page.prompt.value.trim()
  if (text === '' || page.send.disabled) return
  page.prompt.value = ''
  prompt(text)
})
page.prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  page.ask.requestSubmit()
})

// Whoever leaves takes the agent along; who comes back to a kept page begins anew.
addEventListener('pagehide', () => life.controller.abort())
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})

start()
