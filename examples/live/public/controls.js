/** The four buttons. What they do is done by the server, to the connection or to the bus. */
import { write } from './text.js'

/** `onPress(action)` does it; returns `{ show({ state, connected, away, answering }) }`. */
export function createControls({ cut, hold, leave, restart }, onPress) {
  const isOn = (button) => button.getAttribute('aria-pressed') === 'true'
  cut.addEventListener('click', () => onPress('cut'))
  hold.addEventListener('click', () => onPress(isOn(hold) ? 'release' : 'hold'))
  leave.addEventListener('click', () => onPress(isOn(leave) ? 'return' : 'leave'))
  restart.addEventListener('click', () => onPress('restart'))

  return {
    show({ state, connected, away, answering }) {
      cut.disabled = !connected
      hold.disabled = !connected || state === 'evicted'
      leave.disabled = !answering || !(connected || away)
      restart.disabled = !answering
      toggle(hold, state === 'held' || state === 'evicted', 'Read again', 'Stop reading')
      toggle(leave, away, 'Come back', 'Stay away')
    },
  }
}

function toggle(button, on, onText, offText) {
  button.setAttribute('aria-pressed', String(on))
  write(button.querySelector('b'), on ? onText : offText)
}
