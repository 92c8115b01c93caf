/** A reader's state as a table, and how it stands to the server's. */
import { dataCell, typeInWords } from './data.js'
import { parts } from './ledger.js'
import { element, number, write } from './text.js'

/** `show(state, bus)`, with the state as `{ cursor, total, kinds }`, the cursor undefined before the first event. */
export function createTally({ kinds, total, verdict }) {
  let drawn = -1

  function draw(state) {
    drawn = state.total
    const entries = Object.entries(state.kinds).toSorted(([one], [other]) => (one < other ? -1 : 1))
    kinds.replaceChildren(
      ...entries.map(([type, { count, last }]) => {
        const row = element('li')
        row.append(
          element('span', 'type', typeInWords(type)),
          element('b', 'number', number(count)),
          dataCell(last),
        )
        return row
      }),
    )
  }

  return {
    show(state, bus) {
      if (state.total !== drawn) draw(state)
      write(total, number(state.total))
      const difference = bus && state.cursor !== undefined ? differenceOf(state, bus) : undefined
      verdict.dataset.difference = difference ?? ''
      write(verdict, inWords(difference))
    },
  }
}

/**
 * By how many events a state counts more than the server's, told at any time: each event counts once, so that what a state
 * counts before its epoch's first event stays the same as both go on. Undefined where the epochs differ.
 */
function differenceOf({ cursor, total }, bus) {
  const { epoch, id } = parts(cursor)
  return epoch === bus.epoch ? total - id - (bus.total - bus.lastEventId) : undefined
}

function inWords(difference) {
  if (difference === undefined) return ''
  if (difference === 0) return 'as the server counts'
  return `${number(Math.abs(difference))} ${difference > 0 ? 'more' : 'fewer'} than the server counts`
}
