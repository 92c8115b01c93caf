// Enough for any base to reach any cap; further on, the doubled number would become Infinity, and 0 times that NaN.
const MAX_DOUBLINGS = 40

/**
 * Milliseconds until the next try after so many failures in a row: the base, doubled with each, and up to a half of that
 * more by chance, so that clients who lost one server do not come back as one; at the cap the chance works downwards. Never
 * less than the base, which a server asked for, nor more than the cap.
 */
export function backoff(baseMs: number, maxMs: number, failures: number): number {
  const top = Math.min(maxMs, 1.5 * baseMs * 2 ** Math.min(failures, MAX_DOUBLINGS))
  return Math.round(Math.max(Math.min(baseMs, maxMs), (top * (2 + Math.random())) / 3))
}
