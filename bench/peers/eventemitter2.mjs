/** EventEmitter2 with wildcards. */
import emitter2 from 'eventemitter2'

export function create() {
  const emitter = new emitter2.EventEmitter2({ wildcard: true, maxListeners: 0 })
  let id = 0
  return {
    on: (pattern, handler) => emitter.on(pattern, handler),
    emit(type, data) {
      emitter.emit(type, Object.freeze({ id: ++id, v: 1, type, data }))
    },
  }
}
