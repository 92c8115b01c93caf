// What a timer of the platform can wait: a longer delay fires after a millisecond instead.
const LONGEST = 2 ** 31 - 1

/** Milliseconds that never run backwards. */
export const now = () => performance.now()

/**
 * Calls back after any number of milliseconds, `Infinity` being never, unless the returned function is called before.
 * The timer keeps no process alive, where the runtime knows the difference, unless it is `awaited`: a process would end
 * in the middle of what somebody waits for.
 */
export function after(ms: number, callback: () => void, awaited?: 'awaited'): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (left: number) => {
    if (left === Infinity) return
    timer = setTimeout(left > LONGEST ? () => wait(left - LONGEST) : callback, Math.min(left, LONGEST))
    if (!awaited) (timer as { unref?: () => void }).unref?.()
  }
  wait(ms)
  return () => clearTimeout(timer)
}
