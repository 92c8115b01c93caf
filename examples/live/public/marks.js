/** What happens to a stream, in plain words: `{ kind, title, text, frame? }`. */
import { counted } from './text.js'

const idOf = (cursor) => cursor.slice(cursor.lastIndexOf(':') + 1)

export const opened = () => ({
  kind: 'note',
  title: 'Connected',
  text: 'There was no cursor yet, so everything that the ring retains was asked for.',
})

/** `toldWhy`: a frame right before has said why. */
export const lost = (cursor, toldWhy, next) => ({
  kind: 'cut',
  title: toldWhy ? 'The stream ended' : 'Connection lost',
  text: `${cursor ? `The last id seen is ${idOf(cursor)}. ` : ''}${next}`,
})

export const reconnected = (cursor) => ({
  kind: 'note',
  title: 'Connected',
  text: `Sent Last-Event-ID: ${cursor}`,
})

export const gaveUp = (reader) => ({
  kind: 'error',
  title: `${reader} gave up`,
  text: 'The answer was no event stream. This page opens a new one at its cursor.',
})

export const shut = ({ reason }) => ({
  kind: 'gate',
  name: 'gate_shut',
  title: reason === 'gate_overflow' ? 'The gate is too full' : 'The gate shuts',
  text: 'The state is loaded afresh. Until it is there, events are held.',
})

/** `kept` of what was held is applied, `contained` is in the state already. */
export const openedGate = ({ cursor, total }, { kept, contained }) => ({
  kind: 'gate',
  name: 'gate_open',
  title: 'The gate opens',
  text: `The state counts ${counted(total, 'event')} up to ${idOf(cursor)}. Of those held, ${kept} above it now apply and ${contained} up to it are dropped.`,
})

export const stateLoaded = ({ cursor, total }) => ({
  kind: 'note',
  name: 'state_loaded',
  title: 'State loaded',
  text: `It counts ${counted(total, 'event')} up to ${idOf(cursor)}. The stream is asked for what follows.`,
})

export const pressed = {
  cut: {
    kind: 'action',
    title: 'You cut the connection',
    text: 'What is published meanwhile waits in the ring.',
  },
  hold: {
    kind: 'action',
    title: 'You stopped reading',
    text: 'From here on the backlog grows on the server.',
  },
  release: { kind: 'action', title: 'You read again', text: 'What waited arrives in order.' },
  leave: {
    kind: 'action',
    title: 'You stay away',
    text: 'Long enough for the ring to move on meanwhile.',
  },
  return: { kind: 'action', title: 'You come back', text: 'The next reconnect is let in.' },
  repeat: {
    kind: 'action',
    title: 'You had events sent again',
    text: 'The server writes the newest five into both streams once more.',
  },
  restart: { kind: 'action', title: 'You restarted the bus', text: 'Every cursor given out so far is void.' },
}

export const cameTwice = (text) => ({ kind: 'warning', name: 'duplicate', title: 'Came twice', text })

export const disagreement = (text) => ({ kind: 'error', title: 'This must not happen', text })

/** One control frame as a mark. `gone`: how many events the frame says are gone, where that is known. */
export function ofFrame(frame, gone) {
  const describe = DESCRIPTIONS[frame.type]
  return { ...describe(frame.data, gone), name: frame.type, frame }
}

const DESCRIPTIONS = {
  replay_complete: ({ replayedCount, lastReplayedEventId }) => ({
    kind: 'replay',
    title: replayedCount === 0 ? 'Nothing to replay' : `Replayed ${counted(replayedCount, 'event')}`,
    text:
      replayedCount === 0
        ? 'The cursor is at the head. From here on the stream is live.'
        : `Up to ${lastReplayedEventId}, each once and in order. From here on the stream is live.`,
  }),

  slow_client_warning: ({ queueSize, maxQueued }) => ({
    kind: 'warning',
    title: 'Slow-client warning',
    text: `${queueSize} of ${maxQueued} events were waiting, 75\u00a0% of the cap. There is one warning until the backlog has been down to 37.5\u00a0%.`,
  }),

  client_evicted: ({ queueSize, maxQueued, droppedAfter }) => ({
    kind: 'evicted',
    title: 'Evicted',
    text: `The queue was full (${queueSize} of ${maxQueued}) and the next event did not fit. Resuming behind ${droppedAfter} leaves no gap.`,
  }),

  state_resync_required: ({ reason, earliestAvailableId, lastDeliveredId, detail }, gone) => {
    const from = earliestAvailableId
    if (reason === 'ring_evicted') {
      return {
        kind: 'resync',
        title: `Resync: ${gone === undefined ? 'events are' : `${counted(gone, 'event is', 'events are')}`} gone`,
        text: `The ring has moved past ${lastDeliveredId}; it begins at ${from} now.`,
      }
    }
    return {
      kind: 'resync',
      title: reason === 'epoch_reset' ? 'Resync: a new epoch' : `Resync: ${reason}`,
      text: `${detail === 'epoch_mismatch' ? 'The cursor was of another bus. ' : ''}The stream goes on from ${from}.`,
    }
  },

  stream_error: ({ error, code }) => ({
    kind: 'error',
    title: `The server ends the stream: ${code}`,
    text: error,
  }),
}
