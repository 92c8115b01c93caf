/** What happened, newest first, of both readers together. */
import { element } from './text.js'

const MAX_HAPPENED = 80

/** `add(mark, reader)`, with the reader `{ id, name }` that it happened to, or none for what a person did. */
export function createLog(happened) {
  return {
    add(mark, reader) {
      happened.prepend(row(mark, reader))
      while (happened.childElementCount > MAX_HAPPENED) happened.lastElementChild.remove()
    },
  }
}

function row(mark, reader) {
  const item = element('li', mark.kind)
  item.dataset.mark = mark.name ?? mark.kind
  const body = element('p')
  if (reader !== undefined) {
    item.dataset.reader = reader.id
    body.append(element('i', '', reader.name), ' ')
  }
  body.append(element('b', '', mark.title), ' ', element('span', '', mark.text))
  item.append(element('time', '', new Date().toLocaleTimeString('en-GB')), body)
  return item
}
