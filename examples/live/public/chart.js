/** Backlog over the last minute, a line per subscriber, against the cap and the two marks of the warning. */
const WINDOW_MS = 60_000
const HEIGHT = 172
const PAD = { top: 18, right: 26, bottom: 20, left: 2 }
/** The others are this page's own. */
const COLOURS_OF_OTHERS = [1, 3, 4, 5]
const SVG = 'http://www.w3.org/2000/svg'

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  if (text !== undefined) made.textContent = text
  return made
}

/** `{ sample(subscribers, maxQueued) }`; each call adds one point in time and draws. A subscriber may bring its colour. */
export function createChart(svg) {
  /** name → `{ colour, points: [{ at, round, queued, evicted }] }`, oldest first. */
  const lines = new Map()
  let round = 0
  let drawn = 0

  function sample(subscribers, maxQueued) {
    const now = performance.now()
    round += 1
    for (const { name, colour, queued, evicted } of subscribers) {
      let line = lines.get(name)
      if (line === undefined) {
        const another = () => COLOURS_OF_OTHERS[drawn++ % COLOURS_OF_OTHERS.length]
        line = { colour: colour ?? another(), points: [] }
        lines.set(name, line)
      }
      line.points.push({ at: now, round, queued, evicted })
    }
    for (const [name, line] of lines) {
      line.points = line.points.filter(({ at }) => at > now - WINDOW_MS - 1000)
      if (line.points.length === 0) lines.delete(name)
    }
    draw(now, maxQueued)
  }

  function draw(now, maxQueued) {
    const width = svg.clientWidth
    if (width === 0) return
    svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`)
    const inner = { width: width - PAD.left - PAD.right, height: HEIGHT - PAD.top - PAD.bottom }
    const x = (at) => PAD.left + inner.width * (1 - (now - at) / WINDOW_MS)
    const y = (queued) => PAD.top + inner.height * (1 - queued / maxQueued)
    const right = PAD.left + inner.width
    svg.replaceChildren(
      ...levels(maxQueued, y, right),
      ...[...lines.values()].flatMap((line) => curve(line, x, y)),
      ...labels(maxQueued, y, right),
      ...times(x, now, right),
    )
  }

  return { sample, colourOf: (name) => lines.get(name)?.colour ?? 0 }
}

const LEVELS = [
  ['cap', 1, 'cap: evicted'],
  ['warn', 0.75, '75\u00a0%: warned'],
  ['rearm', 0.375, '37.5\u00a0%: re-armed'],
  ['zero', 0, ''],
]

const levels = (maxQueued, y, right) =>
  LEVELS.map(([name, share]) => {
    const at = y(share * maxQueued)
    return shape('line', { class: `level ${name}`, x1: PAD.left, x2: right, y1: at, y2: at })
  })

const labels = (maxQueued, y, right) =>
  LEVELS.flatMap(([name, share, text]) => {
    const at = y(share * maxQueued)
    return [
      shape('text', { class: `label ${name}`, x: PAD.left + 2, y: at - 4 }, text),
      shape('text', { class: `label ${name}`, x: right + 6, y: at + 4 }, String(share * maxQueued)),
    ]
  })

const times = (x, now, right) =>
  [60, 45, 30, 15, 0].map((seconds) => {
    const anchor = seconds === 60 ? 'start' : seconds === 0 ? 'end' : 'middle'
    const at = seconds === 0 ? right : x(now - seconds * 1000)
    const text = seconds === 0 ? 'now' : `−${seconds} s`
    return shape('text', { class: 'label', x: at, y: HEIGHT - 5, 'text-anchor': anchor }, text)
  })

/** Where a sample lacks the subscriber its line has a gap: it was not connected. */
function curve({ colour, points }, x, y) {
  const drawn = []
  let path = ''
  let before
  for (const point of points) {
    const joined =
      before !== undefined && point.round === before.round + 1 && !(before.evicted && !point.evicted)
    path += `${joined ? 'L' : 'M'}${x(point.at).toFixed(1)} ${y(point.queued).toFixed(1)}`
    if (point.evicted && joined && !before.evicted) drawn.push(cross(x(point.at), y(point.queued)))
    before = point
  }
  return [shape('path', { class: `curve series-${colour}`, d: path }), ...drawn]
}

function cross(x, y) {
  const arm = 4
  return shape('path', {
    class: 'cross',
    d: `M${x - arm} ${y - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`,
  })
}
