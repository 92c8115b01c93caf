/** The buttons. What they do is done by the server, to both readers' connections or to the bus. */
import { write } from './text.js'

/** `onPress(action)` does it; returns `{ show({ held, evicted, connected, away, answering }) }`. */
export function createControls({ cut, hold, leave, repeat, restart }, onPress) {
  const isOn = (button) => button.getAttribute('aria-pressed') === 'true'
  cut.addEventListener('click', () => onPress('cut'))
  hold.addEventListener('click', () => onPress(isOn(hold) ? 'release' : 'hold'))
  leave.addEventListener('click', () => onPress(isOn(leave) ? 'return' : 'leave'))
  repeat.addEventListener('click', () => onPress('repeat'))
  restart.addEventListener('click', () => onPress('restart'))

  return {
    show({ held, evicted, connected, away, answering }) {
      cut.disabled = !connected
      hold.disabled = !connected || evicted
      leave.disabled = !answering || !(connected || away)
      repeat.disabled = !connected
      restart.disabled = !answering
      toggle(hold, held || evicted, 'Read again', 'Stop reading')
      toggle(leave, away, 'Come back', 'Stay away')
    },
  }
}

function toggle(button, on, onText, offText) {
  button.setAttribute('aria-pressed', String(on))
  write(button.querySelector('b'), on ? onText : offText)
}
