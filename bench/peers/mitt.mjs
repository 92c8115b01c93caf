/** mitt has no patterns: each listener of `*` hears everything and looks for itself. */
import mitt from 'mitt'
import { segmentFilter } from '../limits/segment-filter.mjs'

export function create() {
  const emitter = mitt()
  let id = 0
  return {
    on(pattern, handler) {
      const matches = segmentFilter(pattern)
      emitter.on('*', (type, event) => matches(type) && handler(event))
    },
    emit(type, data) {
      emitter.emit(type, Object.freeze({ id: ++id, v: 1, type, data }))
    },
  }
}
