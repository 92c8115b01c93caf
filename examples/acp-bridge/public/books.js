/** What came, counted, so that it can be held against what the agent said. */

export function createBooks() {
  let updates = 0
  let replayed = 0
  let text = ''
  /** Messages of a running replay that were seen, and those of one that is complete and were not seen yet. */
  let seen = 0
  let ahead = 0
  let isReplaying = false

  return {
    get updates() {
      return updates
    },
    get replayed() {
      return replayed
    },
    returned() {
      isReplaying = true
      seen = 0
    },
    /** The wire has the whole of the replay. */
    complete(count) {
      isReplaying = false
      ahead = count - seen
    },
    /** A message of the session: `live` or `replayed`. `isLast` where it ends a replay. */
    take(update) {
      if (update) {
        updates += 1
        if (update.sessionUpdate === 'agent_message_chunk') text += update.content?.text ?? ''
      }
      if (!isReplaying && ahead === 0) return { delivery: 'live' }
      replayed += 1
      if (isReplaying) seen += 1
      else ahead -= 1
      return { delivery: 'replayed', isLast: !isReplaying && ahead === 0 }
    },
    get isCaughtUp() {
      return !isReplaying && ahead === 0
    },
    /** By how many updates this page has fewer than the agent said. */
    missing: ({ said }) => said - updates,
    isComplete: (other) => other.said === updates && other.text === text,
  }
}
