/** Calls back when the signal is aborted, now where it is already; the returned function leaves nothing at the signal. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted) callback()
  else signal?.addEventListener('abort', callback)
  return () => signal?.removeEventListener('abort', callback)
}
