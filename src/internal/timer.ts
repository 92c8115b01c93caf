// What a timer of the platform can wait: a longer delay fires after a millisecond instead.
const LONGEST = 2 ** 31 - 1

type Timer = ReturnType<typeof setTimeout>

/**
 * Calls back after any number of milliseconds, `Infinity` being never, unless the returned function is called before.
 * The timer keeps no process alive, where the runtime knows the difference.
 */
export function after(ms: number, callback: () => void): () => void {
  return start(ms, callback, (timer) => (timer as { unref?: () => void }).unref?.())
}

/** The same for what somebody waits for: it keeps the process alive, which would end with a promise pending otherwise. */
export function afterAwaited(ms: number, callback: () => void): () => void {
  return start(ms, callback)
}

function start(ms: number, callback: () => void, started?: (timer: Timer) => void): () => void {
  let timer: Timer | undefined
  const wait = (left: number) => {
    if (left === Infinity) return
    timer = setTimeout(() => (left > LONGEST ? wait(left - LONGEST) : callback()), Math.min(left, LONGEST))
    started?.(timer)
  }
  wait(ms)
  return () => clearTimeout(timer)
}
