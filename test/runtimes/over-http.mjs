/**
 * What a client sees of two buses behind a real server of the runtime: `/ended` serves one that has ended, `/live` one
 * that goes on. The values are the same whichever server it is.
 */

import { readUntil } from './scenario.mjs'

/** `publish` publishes on the live bus, `subscriberCount` asks it; both may be asynchronous. */
export async function overHttp(origin, { publish, subscriberCount }) {
  const resumed = await fetch(`${origin}/ended`, { headers: { 'last-event-id': 'e:3' } })
  const resumedBody = await resumed.text()
  const caughtUp = await fetch(`${origin}/ended`, { headers: { 'last-event-id': 'e:5' } })
  await caughtUp.text()

  const client = new AbortController()
  const live = await fetch(`${origin}/live`, { signal: client.signal })
  const reader = live.body.getReader()
  const opening = await readUntil(reader, 'data:\n\n')
  await publish()
  const event = await readUntil(reader, '\n\n')
  const during = await subscriberCount()
  client.abort()
  await reader.read().catch(() => undefined)

  return {
    resumed: { status: resumed.status, type: resumed.headers.get('content-type'), body: resumedBody },
    caughtUp: caughtUp.status,
    live: { opening, event, during, after: await comesToZero(subscriberCount) },
  }
}

/** A cut is noticed by the host in its own time: only that it is noticed is the same everywhere. */
async function comesToZero(count) {
  const deadline = Date.now() + 10_000
  while ((await count()) !== 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return count()
}
