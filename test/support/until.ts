// Taken before any test fakes the clock: waiting for a socket is real time, whatever the code under test is told.
const later = setTimeout
const never = clearTimeout
const now = performance.now.bind(performance)

/** Resolves once `condition` holds; polls, since what it looks at (a count, a buffer) announces nothing. */
export async function until(
  condition: () => boolean,
  what = String(condition),
  withinMs = 10_000,
): Promise<void> {
  const deadline = now() + withinMs
  while (!condition()) {
    if (now() > deadline) throw new Error(`still waiting after ${withinMs} ms for: ${what}`)
    await new Promise((resolve) => later(resolve, 1))
  }
}

/** The promise's own outcome, or a failure that says what never came. */
export function within<T>(promise: PromiseLike<T>, what: string, withinMs = 10_000): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = later(() => reject(new Error(`still waiting after ${withinMs} ms for: ${what}`)), withinMs)
    promise.then(resolve, reject).then(
      () => never(timer),
      () => never(timer),
    )
  })
}

/** Real milliseconds that a piece of work took. */
export async function elapsed(work: () => PromiseLike<unknown>): Promise<number> {
  const start = now()
  await work()
  return now() - start
}

/** Real time, where it is itself what a test is about: a client that takes its time. */
export const pause = (ms: number) => new Promise<void>((resolve) => later(resolve, ms))

/** As long as so many promises in a row take, without a turn of the loop. */
export async function hops(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await undefined
}

/** Lets everything that is already on its way (microtasks, immediates, loopback sockets) arrive. */
export async function settle(turns = 3): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => later(resolve, 1))
}
