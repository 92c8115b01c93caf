/** The list of events and marks: bounded, and following its end until somebody scrolls up. */
import { dataCell, typeInWords } from './data.js'
import { age, element } from './text.js'

const MAX_ROWS = 300
/** A flood is drawn ten times a second, so that the page stays usable. */
const DRAW_EVERY_MS = 100
/** How far from the end still counts as the end, in pixels. */
const NEAR_END = 48

/**
 * `{ add(entry) }`, with an event as `{ event, cursor, delivery }`, or `{ json, … }` to be parsed only where it is drawn, or
 * a mark. How it was delivered: `live`, `replayed`, or `held` by a gate before.
 */
export function createList({ rows, follow }) {
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
        .map((entry) => (entry.cursor === undefined ? markRow(entry) : eventRow(entry))),
    )
    waiting = []
    while (rows.childElementCount > MAX_ROWS) rows.firstElementChild.remove()
    if (following) rows.scrollTop = rows.scrollHeight
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

  return { add }
}

function eventRow({ json, event = JSON.parse(json), cursor, delivery }) {
  const row = element('li', `event ${delivery}`)
  row.dataset.id = event.id
  row.dataset.cursor = cursor
  row.dataset.delivery = delivery
  const when = element('span', 'age', age(Date.now() - event.at))
  when.dataset.at = event.at
  row.append(
    element('span', 'id', event.id),
    element('span', 'type', typeInWords(event.type) + (event.clipped ? ' (cut)' : '')),
    dataCell(event.data),
    when,
    element('span', 'delivery', delivery),
  )
  return row
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
