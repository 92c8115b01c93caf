/** What a person should know about the connection at this moment, in the order in which it matters. */
import { parts } from './ledger.js'
import { counted, number } from './text.js'

/**
 * `{ state, name, text }` of one reader's stream. `waiting` says what it does between two connections. `stats` is the
 * server's last answer: undefined before the first one, null while it does not answer.
 */
export function stateOf({ reader, phase, cursor, shut, waiting }, stats) {
  if (stats === null) return say('lost', 'No server', `The demo does not answer. ${waiting}`)
  if (phase === 'loading')
    return say('connecting', 'Loading', 'First the state, then what follows its cursor.')
  if (phase === 'connecting') return say('connecting', 'Connecting', 'Opening the stream.')
  if (phase === 'lost') {
    if (!stats?.away.includes(reader) || cursor === undefined) return say('lost', 'Reconnecting', waiting)
    const { ringSize, lastEventId } = stats.bus
    const left = Math.max(0, parts(cursor).id + ringSize + 1 - lastEventId)
    return say('away', 'Staying away', `${counted(left, 'more event')} until the ring has passed the cursor.`)
  }
  const you = stats?.subscribers.find((subscriber) => subscriber.you && subscriber.reader === reader)
  if (you?.held && you.evicted) {
    return say('evicted', 'Evicted', 'The queue overflowed. In two seconds the bytes flow again, and tell.')
  }
  if (you?.held) {
    const waiting = `${you.queued} of ${stats.bus.maxQueued} events waiting`
    return say('held', 'Not reading', `${waiting}, ${number(you.heldBytes)} bytes stuck in the socket.`)
  }
  if (shut) return say('shut', 'Reloading', 'Connected. The gate holds what comes until the state is there.')
  if (phase === 'replaying') {
    return say('replaying', 'Replaying', 'What was published meanwhile comes first, in order.')
  }
  if (stats?.source.ended) return say('live', 'Live', 'Connected, but the input has ended.')
  return say('live', 'Live', 'Every event as it is published.')
}

const say = (state, name, text) => ({ state, name, text })
