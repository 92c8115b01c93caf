/**
 * Makes everything that a worker refuses at module scope fail aloud, as some hosts do, and notes who asked for it even
 * if the failure is caught. Returns the notes and the way back.
 */
exports.refuseHostCalls = function refuseHostCalls() {
  const timers = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']
  const others = ['fetch', 'AbortController', 'MessageChannel', 'BroadcastChannel', 'WebSocket']
  const places = [
    ...[...timers, ...others].map((name) => [globalThis, name, name]),
    ...['randomUUID', 'getRandomValues'].map((name) => [crypto, name, `crypto.${name}`]),
    ...['abort', 'timeout', 'any'].map((name) => [AbortSignal, name, `AbortSignal.${name}`]),
    [Math, 'random', 'Math.random'],
    [Date, 'now', 'Date.now'],
    [performance, 'now', 'performance.now'],
  ]
  // Node builds some of them when they are first looked at, and uses others for that.
  for (const [owner, name] of places) void owner[name]

  const called = []
  const undo = places.map(([owner, name, label]) => {
    const before = Object.getOwnPropertyDescriptor(owner, name)
    function refused() {
      called.push(label)
      throw new Error(`${label} at module scope`)
    }
    Object.defineProperty(owner, name, { value: refused, configurable: true, writable: true })
    return () => {
      if (before === undefined) delete owner[name]
      else Object.defineProperty(owner, name, before)
    }
  })

  return {
    called,
    restore() {
      for (const step of undo) step()
    },
  }
}
