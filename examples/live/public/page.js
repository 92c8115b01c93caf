/** Ties the two readers, the server's figures and the buttons to the page. */
import { createChart } from './chart.js'
import { createControls } from './controls.js'
import { createLog } from './log.js'
import * as marks from './marks.js'
import { showNative, showResuming } from './readers.js'
import { counted, element, number, write } from './text.js'

const STATS_EVERY_MS = 250
const NATIVE = { id: 'eventsource', name: 'EventSource', about: 'the browser’s own' }
const RESUMING = { id: 'connectbus', name: 'connectBus', about: 'with createResyncGate' }
const COLOURS = { [NATIVE.id]: 0, [RESUMING.id]: 2 }
const NAMES = { [NATIVE.id]: NATIVE.name, [RESUMING.id]: RESUMING.name }

const page = Object.fromEntries([...document.querySelectorAll('[id]')].map((found) => [found.id, found]))
/** Tells the server which connections are this page's. */
const client = [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => byte.toString(36)).join('')
const address = (path) => `${path}?client=${client}`
const eventsFor = ({ id }) => `${address('events')}&reader=${id}`

const log = createLog(page.happened)
const chart = createChart(page.chart)
const controls = createControls(page, press)
const handlers = { onMark, onChange: showSoon }

/** The server's last answer: undefined before the first one, null while it does not answer. */
let stats

const native = showNative(page.native, page.reader, NATIVE, eventsFor(NATIVE), handlers)
const urls = { events: eventsFor(RESUMING), snapshot: 'snapshot' }
const resuming = showResuming(page.resuming, page.reader, RESUMING, urls, handlers)
const readers = [native, resuming]

function onMark(mark, reader) {
  log.add(mark, reader)
  showSoon()
}

async function press(action) {
  const mark = marks.pressed[action]
  log.add(mark)
  for (const { note } of readers) note(mark)
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
    // This page first: its lines keep their colours and their places.
    const subscribers = stats.subscribers
      .map((one) => ({ ...one, name: nameOf(one), colour: one.you ? COLOURS[one.reader] : undefined }))
      .toSorted((one, other) => placeOf(one) - placeOf(other))
    chart.sample(subscribers, stats.bus.maxQueued)
    showLegend(subscribers)
    const { warned, evicted, resyncs } = stats.bus
    write(page.totals, `${number(warned)} warned, ${number(evicted)} evicted, ${counted(resyncs, 'resync')}`)
    showSource(stats.source)
  }
  show()
  setTimeout(poll, STATS_EVERY_MS)
}

const nameOf = ({ you, page, reader }) => (you ? NAMES[reader] : `page ${page}, ${NAMES[reader]}`)
const placeOf = ({ you, page, reader }) => (you ? 0 : 2 * page) + (reader === NATIVE.id ? 0 : 1)

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
  for (const reader of readers) reader.show(stats)
  const mine = stats?.subscribers.filter(({ you }) => you) ?? []
  controls.show({
    held: mine.some(({ held }) => held),
    evicted: mine.some(({ held, evicted }) => held && evicted),
    connected: readers.some(({ stream: { phase } }) => phase === 'live' || phase === 'replaying'),
    away: stats?.away.length > 0,
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
    ...subscribers.map(({ name, queued, held, evicted }) => {
      const item = element('li')
      item.append(
        element('span', `swatch series-${chart.colourOf(name)}`),
        `${name} `,
        element('b', 'number', `${queued} / ${stats.bus.maxQueued}`),
        evicted ? ' evicted' : held ? ' not reading' : '',
      )
      return item
    }),
  )
}

show()
poll()
