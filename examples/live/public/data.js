/** What an event says, as a cell. */
import { element, printable } from './text.js'

/** The pairs of an object, or text. */
export function dataCell(data) {
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

export const typeInWords = (type) => type.replaceAll('_', ' ')

const UNITS = { Percent: ' %', MiB: ' MiB', Ms: ' ms' }

/** `cpuPercent` → `cpu`, ` %`. */
function labelled(name) {
  const [, label, unit] = /^(.*?)(Percent|MiB|Ms)?$/.exec(name)
  return [label, UNITS[unit] ?? '']
}
