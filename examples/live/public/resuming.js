/**
 * The package's own client with its gate and a reducer: the state is loaded first, the stream goes on from its cursor,
 * and whatever a resync calls gone is in the state that is loaded next.
 */
import { connectBus, createResyncGate } from '/dist/client.js'
import { Held } from './held.js'
import { parts } from './ledger.js'
import { applyEvent } from './reducer.js'
import { seconds } from './text.js'
import { createWire } from './wire.js'

/** A person waits: the default of 30 s would outlast what the demo shows. */
const MAX_RETRY_MS = 5000
const AGAIN_MS = 3000

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function load(url) {
  for (;;) {
    try {
      const answer = await fetch(url)
      if (answer.ok) return await answer.json()
    } catch {
      // The next attempt may meet a server.
    }
    await pause(AGAIN_MS)
  }
}

/**
 * @param {{ events: string, snapshot: string }} urls
 * @param {{ onLoaded(state), onOpen(resumedFrom: string), onArrived(cursor: string, replayed: boolean),
 *   onApplied(entry), onControl(frame), onLost(cursor: string, toldWhy: boolean), onRetry(), onShut(frame),
 *   onOpened(state, split), onGaveUp() }} handlers `onArrived` is told before the gate, `onApplied` behind it.
 */
export function openResuming(urls, handlers) {
  const held = new Held()
  const wire = createWire()
  let phase = 'loading'
  let cursor
  let state
  let toldWhy = false
  /** The last one, as `onRetry` tells it, and when it is due. */
  let retry
  let dueAt = 0
  let reconnects = 0
  let latest

  const gate = createResyncGate({
    async onResync(frame) {
      latest = frame
      held.shut()
      handlers.onShut(frame)
      const loaded = await load(urls.snapshot)
      // A further resync loads again, and a state of another epoch is none that this stream goes on from.
      if (frame !== latest || parts(loaded.cursor).epoch !== frame.data.epoch) return undefined
      state = loaded
      handlers.onOpened(loaded, held.open(loaded.cursor))
      return loaded.cursor
    },
  })

  const onOpen = (open) => {
    phase = 'replaying'
    toldWhy = false
    handlers.onOpen(open.cursor)
  }

  const onRetry = (told) => {
    const was = phase
    phase = 'lost'
    retry = told
    dueAt = performance.now() + told.delayMs
    reconnects += 1
    // Further failures of the same outage bring nothing new.
    if (was === 'replaying' || was === 'live') handlers.onLost(cursor, toldWhy)
    else handlers.onRetry()
  }

  /** What comes, before the gate. */
  async function* arriving(stream) {
    for await (const frame of stream) {
      cursor = stream.cursor
      if (frame.id === undefined) meet(frame)
      else {
        const replayed = phase === 'replaying'
        held.enter({ event: frame, cursor, delivery: gate.shut ? 'held' : replayed ? 'replayed' : 'live' })
        handlers.onArrived(cursor, replayed)
      }
      yield frame
    }
  }

  function meet(frame) {
    const { type, data } = frame
    if (type === 'replay_complete' || data.reason === 'invalid_cursor') phase = 'live'
    toldWhy ||= type === 'client_evicted' || type === 'stream_error'
    handlers.onControl(frame)
  }

  function apply(event) {
    const entry = held.leave(event)
    applyEvent(state, event)
    state.cursor = entry.cursor
    handlers.onApplied(entry)
  }

  async function run() {
    state = await load(urls.snapshot)
    cursor = state.cursor
    handlers.onLoaded(state)
    for (;;) {
      phase = 'connecting'
      const options = { lastEventId: cursor, fetch: wire.fetch, maxRetryMs: MAX_RETRY_MS, onOpen, onRetry }
      try {
        for await (const frame of gate.through(arriving(connectBus(urls.events, options)))) {
          if (frame.id !== undefined) apply(frame)
        }
      } catch (error) {
        console.warn(error)
      }
      phase = 'lost'
      handlers.onGaveUp()
      await pause(AGAIN_MS)
    }
  }

  run()
  return {
    get waiting() {
      if (retry === undefined) return 'It connects again with its cursor.'
      const left = Math.max(0, dueAt - performance.now())
      return `Attempt ${retry.attempt} in ${seconds(left)}, with its cursor.`
    },
    /** `loading`, `connecting`, `replaying`, `live` or `lost`. */
    get phase() {
      return phase
    },
    get cursor() {
      return cursor
    },
    /** `{ cursor, total, kinds }`, undefined until it is loaded. */
    get state() {
      return state
    },
    get shut() {
      return gate.shut
    },
    /** What the gate and the client did, in numbers. */
    get figures() {
      return {
        held: gate.shut ? held.count : 0,
        released: held.released,
        contained: held.contained,
        dropped: wire.duplicates,
        reconnects,
        retry,
      }
    },
  }
}
