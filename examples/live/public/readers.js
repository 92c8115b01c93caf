/** The two readers of the one stream, each in its panel: `{ stream, show(stats) }`. */
import * as marks from './marks.js'
import { createPanel } from './panel.js'
import { applyEvent, emptyState } from './reducer.js'
import { openResuming } from './resuming.js'
import { openStream } from './stream.js'
import { number, seconds, write } from './text.js'

/** The browser's own. It makes a state of what came, and has nothing to load one with. */
export function showNative(root, template, reader, url, { onMark, onChange }) {
  const panel = createPanel(root, template, reader, onMark)
  const { ledger } = panel
  const state = emptyState()

  const stream = openStream(url, {
    onOpen(resumedFrom) {
      panel.mark(resumedFrom === undefined ? marks.opened() : marks.reconnected(resumedFrom))
      onChange()
    },
    onEvent(json, cursor, delivery) {
      panel.arrived(cursor, delivery === 'replayed')
      applyEvent(state, JSON.parse(json))
      panel.list({ json, cursor, delivery })
      onChange()
    },
    onControl: panel.control,
    onCursor(cursor) {
      panel.moved(cursor)
      onChange()
    },
    onLost(cursor, toldWhy) {
      panel.mark(marks.lost(cursor, toldWhy, 'The browser reconnects by itself.'))
    },
    onGaveUp: () => panel.mark(marks.gaveUp('The browser')),
  })

  return {
    stream,
    note: panel.note,
    show(stats) {
      if (ledger.lastId !== undefined) state.cursor = `${ledger.epoch}:${ledger.lastId}`
      panel.show(stream, state, ledger.duplicates, stats)
    },
  }
}

/** The package's own, with its gate. */
export function showResuming(root, template, reader, urls, { onMark, onChange }) {
  const panel = createPanel(root, template, reader, onMark)
  const { parts } = panel
  parts['gate-text'].hidden = true
  parts['gate-figures'].hidden = false
  parts['duplicates-name'].textContent = 'duplicates dropped'

  const stream = openResuming(urls, {
    onLoaded: (state) => panel.mark(marks.stateLoaded(state)),
    onOpen: (resumedFrom) => panel.mark(marks.reconnected(resumedFrom)),
    onArrived(cursor, replayed) {
      panel.arrived(cursor, replayed)
      onChange()
    },
    onApplied(entry) {
      panel.list(entry)
      onChange()
    },
    onControl: panel.control,
    onLost(cursor, toldWhy) {
      const { attempt, delayMs } = stream.figures.retry
      panel.mark(marks.lost(cursor, toldWhy, `Attempt ${attempt} follows in ${seconds(delayMs)}.`))
    },
    onRetry: onChange,
    onShut: ({ data }) => panel.mark(marks.shut(data)),
    onOpened: (state, split) => panel.mark(marks.openedGate(state, split)),
    onGaveUp: () => panel.mark(marks.gaveUp(reader.name)),
  })

  function showGate() {
    const { retry, ...figures } = stream.figures
    parts.gate.dataset.gate = stream.shut ? 'shut' : 'open'
    write(parts['gate-name'], stream.shut ? 'Gate shut' : 'Gate open')
    for (const figure of ['held', 'released', 'contained', 'reconnects']) {
      write(parts[figure], number(figures[figure]))
    }
    write(parts.retry, retry ? `attempt ${retry.attempt}, ${seconds(retry.delayMs)}` : '–')
  }

  return {
    stream,
    note: panel.note,
    show(stats) {
      panel.show(stream, stream.state, stream.figures.dropped, stats)
      showGate()
    },
  }
}
