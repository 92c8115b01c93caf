/** The list of events and marks: bounded, and following its end until somebody scrolls up. */
import { age, element, printable } from './text.js'

const MAX_ROWS = 300
const MAX_HAPPENED = 40
/** A flood is drawn ten times a second, so that the page stays usable. */
const DRAW_EVERY_MS = 100
/** How far from the end still counts as the end, in pixels. */
const NEAR_END = 48

/**
 * `{ add({ json, cursor, replayed }), mark(mark) }`. An event is parsed only when it is drawn; a mark goes into the list
 * and beside it.
 */
export function createList({ rows, happened, follow }) {
  let waiting = []
  let drawing = false
  let drawnAt = 0
  let following = true

  function add(entry) {
    waiting.push(entry)
    // A hidden page draws nothing, and of a flood only the end is ever seen.
    if (waiting.length > 2 * MAX_ROWS) waiting = waiting.slice(-MAX_ROWS)
    if (drawing) return
    drawing = true
    setTimeout(() => requestAnimationFrame(draw), drawnAt + DRAW_EVERY_MS - performance.now())
  }

  function draw() {
    drawing = false
    drawnAt = performance.now()
    rows.append(
      ...waiting
        .slice(-MAX_ROWS)
        .map((entry) => (entry.json === undefined ? markRow(entry) : eventRow(entry))),
    )
    waiting = []
    while (rows.childElementCount > MAX_ROWS) rows.firstElementChild.remove()
    if (following) rows.scrollTop = rows.scrollHeight
  }

  function remember(mark) {
    happened.prepend(happenedRow(mark))
    while (happened.childElementCount > MAX_HAPPENED) happened.lastElementChild.remove()
  }

  rows.addEventListener('scroll', () => {
    following = rows.scrollHeight - rows.scrollTop - rows.clientHeight < NEAR_END
    follow.hidden = following
  })
  follow.addEventListener('click', () => {
    rows.scrollTop = rows.scrollHeight
    rows.focus({ preventScroll: true })
  })

  setInterval(() => {
    const now = Date.now()
    for (const span of rows.querySelectorAll('.age')) span.textContent = age(now - span.dataset.at)
  }, 1000)

  return {
    add,
    mark(mark) {
      add(mark)
      remember(mark)
    },
  }
}

function eventRow({ json, cursor, replayed }) {
  const event = JSON.parse(json)
  const row = element('li', replayed ? 'event replayed' : 'event')
  row.dataset.id = event.id
  row.dataset.cursor = cursor
  row.dataset.delivery = replayed ? 'replayed' : 'live'
  const when = element('span', 'age', age(Date.now() - event.at))
  when.dataset.at = event.at
  row.append(
    element('span', 'id', event.id),
    element('span', 'type', event.type.replaceAll('_', ' ') + (event.clipped ? ' (cut)' : '')),
    dataCell(event),
    when,
    element('span', 'delivery', replayed ? 'replayed' : 'live'),
  )
  return row
}

function dataCell({ data }) {
  const cell = element('span', 'data')
  if (typeof data === 'object' && data !== null) {
    for (const [name, value] of Object.entries(data)) {
      const [label, unit] = labelled(name)
      cell.append(element('span', 'pair', `${label} `), element('b', '', `${value}${unit}`), ' ')
    }
    return cell
  }
  cell.textContent = printable(String(data))
  return cell
}

const UNITS = { Percent: ' %', MiB: ' MiB', Ms: ' ms' }

/** `cpuPercent` → `cpu`, ` %`. */
function labelled(name) {
  const [, label, unit] = /^(.*?)(Percent|MiB|Ms)?$/.exec(name)
  return [label, UNITS[unit] ?? '']
}

function markRow(mark) {
  const row = element('li', `mark ${mark.kind}`)
  row.dataset.mark = mark.name ?? mark.kind
  const body = element('div', 'mark-text')
  body.append(element('b', '', mark.title), ' ', element('span', '', mark.text))
  row.append(body)
  if (mark.frame) {
    const details = element('details')
    details.append(
      element('summary', '', mark.frame.type),
      element('code', '', JSON.stringify(mark.frame.data, null, 1).replace(/\s+/g, ' ')),
    )
    row.append(details)
  }
  return row
}

function happenedRow(mark) {
  const row = element('li', mark.kind)
  row.dataset.mark = mark.name ?? mark.kind
  const time = element('time', '', new Date().toLocaleTimeString('en-GB'))
  const body = element('p')
  body.append(element('b', '', mark.title), ' ', element('span', '', mark.text))
  row.append(time, body)
  return row
}
