import { after } from '../internal/timer.ts'
import type { StreamTail } from './tail.ts'

/**
 * Records the end of a stream, and reads up to there. Rejects with what `late` makes of what went wrong last, where Redis
 * does not confirm both in time.
 */
export async function recordEnd(
  tail: StreamTail,
  timeoutMs: number,
  late: (cause: unknown) => Error,
): Promise<void> {
  let isLate = false
  let stop = () => {}
  let lastError: unknown
  const expired = new Promise<never>((_, reject) => {
    stop = after(
      timeoutMs,
      () => {
        isLate = true
        reject(late(lastError))
      },
      'awaited',
    )
  })
  const recorded = async () => {
    while (!isLate) {
      try {
        const answer = await tail.stream.end(tail.epoch)
        const { lastEventId } = await tail.look()
        if (answer === 'epoch') continue
        return await tail.readUpTo(lastEventId)
      } catch (error) {
        lastError = error
        await tail.again()
      }
    }
  }
  try {
    await Promise.race([recorded(), expired])
  } finally {
    stop()
  }
}
