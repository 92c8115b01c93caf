/** Ties the stream, the server's figures and the buttons to the page. */
import { createChart } from './chart.js'
import { createControls } from './controls.js'
import { Ledger } from './ledger.js'
import { createList } from './list.js'
import * as marks from './marks.js'
import { createPosition } from './position.js'
import { stateOf } from './state.js'
import { openStream } from './stream.js'
import { counted, element, number, write } from './text.js'

const STATS_EVERY_MS = 250

const page = Object.fromEntries([...document.querySelectorAll('[id]')].map((found) => [found.id, found]))
/** Tells the server which connections are this page's. */
const client = [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => byte.toString(36)).join('')
const address = (path) => `${path}?client=${client}`

const ledger = new Ledger()
const list = createList(page)
const chart = createChart(page.chart)
const position = createPosition(page)
const controls = createControls(page, press)

/** The server's last answer: undefined before the first one, null while it does not answer. */
let stats

const stream = openStream(address('events'), {
  onOpen(resumedFrom) {
    mark(resumedFrom === undefined ? marks.opened() : marks.reconnected(resumedFrom))
  },
  onEvent(json, cursor, replayed) {
    const fault = ledger.event(cursor, replayed)
    if (fault) mark(marks.disagreement(fault))
    list.add({ json, cursor, replayed })
    showSoon()
  },
  onControl(frame) {
    mark(marks.ofFrame(frame, ledger.control(frame)))
  },
  onCursor(cursor) {
    const fault = ledger.cursor(cursor)
    if (fault) mark(marks.disagreement(fault))
    showSoon()
  },
  onLost: (cursor, toldWhy) => mark(marks.lost(cursor, toldWhy)),
  onGaveUp: () => mark(marks.gaveUp()),
})

function mark(what) {
  list.mark(what)
  showSoon()
}

async function press(action) {
  mark(marks.pressed[action])
  try {
    await fetch(address(action), { method: 'POST' })
  } catch {
    // The next poll finds out that nobody answers, and says so.
  }
}

async function poll() {
  try {
    const answer = await fetch(address('stats'))
    stats = answer.ok ? await answer.json() : null
  } catch {
    stats = null
  }
  if (stats) {
    // This page first: its line keeps its colour and its place.
    const subscribers = stats.subscribers.toSorted((one, other) => Number(other.you) - Number(one.you))
    chart.sample(subscribers, stats.bus.maxQueued)
    showLegend(subscribers)
    const { warned, evicted, resyncs } = stats.bus
    write(page.totals, `${number(warned)} warned, ${number(evicted)} evicted, ${counted(resyncs, 'resync')}`)
    showSource(stats.source)
  }
  show()
  setTimeout(poll, STATS_EVERY_MS)
}

let showing = false
function showSoon() {
  if (showing) return
  showing = true
  requestAnimationFrame(() => {
    showing = false
    show()
  })
}

function show() {
  const { state, name, text } = stateOf(stream, stats)
  page.state.dataset.state = state
  write(page['state-name'], name)
  write(page['state-text'], text)
  position.show(stream.cursor, stats?.bus)
  for (const counter of ['received', 'replayed', 'announced', 'duplicates', 'missing']) {
    write(page[counter], number(ledger[counter]))
  }
  for (const fault of ['duplicates', 'missing']) {
    page[fault].parentElement.classList.toggle('bad', ledger[fault] > 0)
  }
  controls.show({
    state,
    connected: stream.phase === 'live' || stream.phase === 'replaying',
    away: stats?.away === true,
    answering: Boolean(stats),
  })
}

function showSource({ kind, ended, lines, error }) {
  const input = `Standard input: ${counted(lines, 'line')}${ended ? ', ended' : ' so far'}`
  write(page.source, kind === 'input' ? input : 'This machine’s own figures, eight a second')
  page.source.classList.toggle('ended', ended)
  page['stream-end'].hidden = !ended
  const why = error ? ` (${error})` : ''
  write(page['stream-end'], `Standard input has ended${why}. What the ring retains is still served.`)
}

function showLegend(subscribers) {
  page.legend.replaceChildren(
    ...subscribers.map(({ name, you, queued, held, evicted }) => {
      const item = element('li')
      item.append(
        element('span', `swatch series-${chart.colourOf(name)}`),
        `${you ? 'this page' : name} `,
        element('b', 'number', `${queued} / ${stats.bus.maxQueued}`),
        evicted ? ' evicted' : held ? ' not reading' : '',
      )
      return item
    }),
  )
}

show()
poll()
