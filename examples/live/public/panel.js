/** What both panels show of their reader: where it stands, what came, what it made of it. */
import { Ledger } from './ledger.js'
import { createList } from './list.js'
import * as marks from './marks.js'
import { createPosition } from './position.js'
import { stateOf } from './state.js'
import { createTally } from './tally.js'
import { number, write } from './text.js'

/** A copy of the template in `root`; its parts by name. */
function fill(root, template) {
  root.append(template.content.cloneNode(true))
  return Object.fromEntries(
    [...root.querySelectorAll('[data-part]')].map((part) => [part.dataset.part, part]),
  )
}

/**
 * @param {HTMLElement} root
 * @param {HTMLTemplateElement} template
 * @param {{ id: string, name: string, about: string }} reader
 * @param {(mark, reader) => void} onMark
 */
export function createPanel(root, template, reader, onMark) {
  const parts = fill(root, template)
  const ledger = new Ledger()
  const list = createList(parts)
  const position = createPosition(parts)
  const tally = createTally(parts)
  parts.name.textContent = reader.name
  parts.about.textContent = reader.about
  parts.rows.setAttribute('aria-label', `Stream by ${reader.name}`)

  function mark(what) {
    list.add(what)
    onMark(what, reader)
  }

  function accuse(fault, wasTwice) {
    if (fault) mark(wasTwice ? marks.cameTwice(fault) : marks.disagreement(fault))
  }

  return {
    parts,
    ledger,
    mark,
    /** What a person did, to both readers. */
    note: (what) => list.add(what),
    list: (entry) => list.add(entry),
    arrived(cursor, replayed) {
      const { duplicates } = ledger
      const fault = ledger.event(cursor, replayed)
      accuse(fault, ledger.duplicates > duplicates)
    },
    moved(cursor) {
      accuse(ledger.cursor(cursor), false)
    },
    control(frame) {
      mark(marks.ofFrame(frame, ledger.control(frame)))
    },

    /** `state`: what was made of the events; `duplicates`: how many came twice. */
    show(stream, state, duplicates, stats) {
      const said = stateOf({ ...asSeen(stream), reader: reader.id }, stats)
      parts.state.dataset.state = said.state
      write(parts['state-name'], said.name)
      write(parts['state-text'], said.text)
      position.show(stream.cursor, stats?.bus)
      for (const counter of ['received', 'replayed', 'announced', 'missing']) {
        write(parts[counter], number(ledger[counter]))
      }
      write(parts.duplicates, number(duplicates))
      for (const fault of ['duplicates', 'missing']) {
        parts[fault].parentElement.classList.toggle('bad', ledger[fault] > 0)
      }
      if (state !== undefined) tally.show(state, stats?.bus)
    },
  }
}

/** Getters do not spread. */
const asSeen = ({ phase, cursor, shut, waiting }) => ({ phase, cursor, shut, waiting })
