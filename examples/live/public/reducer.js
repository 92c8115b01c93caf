/**
 * What the demo makes of its events: per type how many there were and what the last one said. The server reduces with
 * the same lines, so the two can be compared.
 */
export const emptyState = () => ({ total: 0, kinds: {} })

export function applyEvent(state, { type, data }) {
  state.total += 1
  state.kinds[type] ??= { count: 0 }
  state.kinds[type].count += 1
  state.kinds[type].last = data
}
