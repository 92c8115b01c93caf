/** Small helpers for text; whatever comes from the stream goes through `textContent` and nothing else. */

/** An element with a class and text. */
export function element(tag, className, text) {
  const made = document.createElement(tag)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

/** Writes text only where it differs: a live region would read the same words again. */
export function write(target, text) {
  if (target.textContent !== text) target.textContent = text
}

const grouped = new Intl.NumberFormat('en')
export const number = (value) => grouped.format(value)
export const counted = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours that programs write for terminals.
const TERMINAL_SEQUENCES = /\u001b\[[0-?]*[ -/]*[@-~]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is left of them is shown, not obeyed.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g

/** A line of a log as a page can show it: without terminal colours, other control characters spelt out. */
export function printable(text) {
  return text
    .replace(TERMINAL_SEQUENCES, '')
    .replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** How long ago, short. */
export function age(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000
  if (seconds < 1) return 'now'
  if (seconds < 60) return `${Math.floor(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3600)} h`
}

/** A time to wait, to a tenth of a second. */
export const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`
