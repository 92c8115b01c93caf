/** emittery has no patterns: each listener hears everything and looks for itself. */
import Emittery from 'emittery'
import { segmentFilter } from '../limits/segment-filter.mjs'

export function create() {
  const emitter = new Emittery()
  let id = 0
  return {
    on(pattern, handler) {
      const matches = segmentFilter(pattern)
      emitter.onAny((type, event) => matches(type) && handler(event))
    },
    emit(type, data) {
      emitter.emit(type, Object.freeze({ id: ++id, v: 1, type, data }))
    },
  }
}
