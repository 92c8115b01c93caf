/** What a person should know about the connection at this moment, in the order in which it matters. */
import { parts } from './ledger.js'
import { counted, number } from './text.js'

/**
 * `{ state, name, text }`. `stats` is the server's last answer: undefined before the first one, null while it does
 * not answer.
 */
export function stateOf({ phase, cursor }, stats) {
  if (stats === null) {
    return say(
      'lost',
      'No server',
      'The demo does not answer. The browser keeps trying, and resumes when it is back.',
    )
  }
  if (phase === 'connecting') return say('connecting', 'Connecting', 'Opening the stream.')
  if (phase === 'lost') {
    if (!stats?.away || cursor === undefined) {
      return say('lost', 'Reconnecting', 'The browser waits a moment and sends its cursor.')
    }
    const { ringSize, lastEventId } = stats.bus
    const left = Math.max(0, parts(cursor).id + ringSize + 1 - lastEventId)
    return say('away', 'Staying away', `${counted(left, 'more event')} until the ring has passed the cursor.`)
  }
  const you = stats?.subscribers.find((subscriber) => subscriber.you)
  if (you?.held && you.evicted) {
    return say(
      'evicted',
      'Evicted',
      'The queue overflowed. In two seconds this page reads again and finds out.',
    )
  }
  if (you?.held) {
    const waiting = `${you.queued} of ${stats.bus.maxQueued} events waiting`
    return say('held', 'Not reading', `${waiting}, ${number(you.heldBytes)} bytes stuck in the socket.`)
  }
  if (phase === 'replaying') {
    return say('replaying', 'Replaying', 'What was published meanwhile comes first, in order.')
  }
  if (stats?.source.ended) return say('live', 'Live', 'Connected, but the input has ended.')
  return say('live', 'Live', 'Every event as it is published.')
}

const say = (state, name, text) => ({ state, name, text })
