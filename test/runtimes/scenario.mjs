/**
 * One pass through everything that runs on every runtime, with nothing but the built package and what such a host has.
 * It returns plain values, the same ones everywhere: `expected.ts` has them, from the contract.
 */

/** The ids 1 to 5 on a bus named `e`, of which the last three are retained. */
export function busOfFive(EventBus) {
  const bus = new EventBus({ epoch: 'e', ringSize: 3 })
  for (let n = 1; n <= 5; n++) bus.publish({ type: 'tick', data: n })
  return bus
}

export async function scenario({ root, sse, lastEventId, web }) {
  return {
    live: await live(root),
    resumed: await resumed(root),
    pressed: await pressed(root),
    ended: await ended(root),
    refused: refused(root),
    measured: measured(root),
    epochs: epochs(root),
    queue: await queue(root),
    disposable: disposable(root),
    text: text(sse),
    cursors: cursors(lastEventId),
    response: await response(root, web),
    stream: await stream(root, web),
  }
}

/** An event is its id, a control frame a short form of what it says. */
function notation(frame, { isControlFrame }) {
  if (!isControlFrame(frame)) return frame.id
  const { data } = frame
  switch (frame.type) {
    case 'state_resync_required': {
      const detail = data.detail === undefined ? '' : `, ${data.detail}`
      return `resync(${data.reason}, ${data.lastDeliveredId}→${data.earliestAvailableId}${detail})`
    }
    case 'replay_complete':
      return `complete(${[data.replayedCount, data.lastReplayedEventId].filter((n) => n !== undefined).join(', ')})`
    case 'slow_client_warning':
      return `warning(${data.queueSize} of ${data.maxQueued})`
    case 'client_evicted':
      return `evicted(${data.reason}, ${data.droppedAfter})`
    default:
      return frame.type
  }
}

async function readAll(source, root) {
  const frames = []
  for await (const frame of source) frames.push(notation(frame, root))
  return frames
}

async function live(root) {
  const bus = new root.EventBus({ epoch: 'e' })
  const subscription = bus.subscribe()
  bus.publish({ type: 'greeting', data: { text: 'grüße 😀' }, kind: 'extra', system: 'a', none: undefined })
  bus.publish({ type: 'tick' })
  const first = await subscription.next()
  const waiting = [subscription.next(), subscription.next(), subscription.next()]
  bus.publish({ type: 'tick' })
  bus.close()
  const rest = await Promise.all(waiting)
  return {
    envelope: JSON.stringify(first.value),
    frozen: Object.isFrozen(first.value),
    ids: rest.map((result) => (result.done ? 'done' : result.value.id)),
    left: bus.subscriberCount,
    afterClose: bus.publish({ type: 'late' }) === undefined,
  }
}

async function resumed(root) {
  const bus = busOfFive(root.EventBus)
  bus.end()
  const read = (options) => readAll(bus.subscribe(options), root)
  return {
    evicted: await read({ lastEventId: 0 }),
    boundary: await read({ lastEventId: 2 }),
    suffix: await read({ lastEventId: 3, epoch: 'e' }),
    head: await read({ lastEventId: 5 }),
    ahead: await read({ lastEventId: 6 }),
    otherEpoch: await read({ lastEventId: 4, epoch: 'other' }),
    earliest: await read({ from: 'earliest' }),
    last: await read({ from: { last: 2 } }),
    none: await read({}),
  }
}

async function pressed(root) {
  const bus = new root.EventBus({ epoch: 'e', ringSize: 100 })
  for (let n = 1; n <= 5; n++) bus.publish({ type: 'tick', data: n })
  const subscription = bus.subscribe({ lastEventId: 0, maxQueued: 2 })
  for (let n = 6; n <= 8; n++) bus.publish({ type: 'tick', data: n })
  const { subscriberCount } = bus
  const frames = []
  for await (const batch of subscription.batches())
    frames.push(...batch.map((frame) => notation(frame, root)))
  return { subscriberCount, frames }
}

async function ended(root) {
  const bus = new root.EventBus({ epoch: 'e' })
  const controller = new AbortController()
  const aborted = bus.subscribe({ signal: controller.signal })
  const returned = bus.subscribe()
  const thrown = bus.subscribe()
  const pending = [aborted.next(), returned.next()]
  controller.abort()
  const value = (await returned.return('given')).value
  const error = await thrown.throw(new Error('mine')).catch((caught) => caught.message)
  const results = await Promise.all(pending)
  return { value, error, done: results.map((result) => result.done), left: bus.subscriberCount }
}

function refused({ EventBus }) {
  const bus = new EventBus({ epoch: 'e', maxSubscribers: 1 })
  bus.subscribe()
  const inputs = [
    null,
    'text',
    {},
    { type: '' },
    { type: 'cursor' },
    { type: 'replay_complete' },
    { type: 'a\nb' },
  ]
  const published = inputs.map((input) => bus.publish(input) === undefined)
  const errors = [
    () => bus.subscribe(),
    () => bus.subscribe({ lastEventId: '3' }),
    () => bus.subscribe({ lastEventId: -1 }),
    () => new EventBus({ ringSize: 1.5 }),
    () => new EventBus({ epoch: 'a b' }),
  ].map((attempt) => {
    try {
      attempt()
      return 'none'
    } catch (error) {
      return error.code ?? `${error.name} about ${/lastEventId|ringSize|epoch/.exec(error.message)}`
    }
  })
  const next = bus.publish({ type: 'fine' }).id
  bus.close()
  return { published: published.every(Boolean), errors, next }
}

function measured({ EventBus }) {
  const bus = new EventBus({ epoch: 'e', maxRingBytes: 10_000 })
  const event = bus.publish({ type: 'tick', data: 'ü€😀\ud800' })
  const bytes = new TextEncoder().encode(JSON.stringify(event)).length
  return { exact: bus.stats().ringBytes === bytes, ringEvents: bus.stats().ringEvents }
}

function epochs({ EventBus }) {
  const all = Array.from({ length: 20 }, () => new EventBus().epoch)
  return { formed: all.every((epoch) => /^[A-Za-z0-9_-]{1,64}$/.test(epoch)), distinct: new Set(all).size }
}

async function queue({ BoundedAsyncQueue }) {
  const queue = new BoundedAsyncQueue({ maxSize: 2 })
  const pushed = [queue.push('a'), queue.push('b'), queue.push('c')]
  queue.forcePush('d')
  const { size } = queue
  queue.close()
  const values = []
  for await (const value of queue) values.push(value)
  return { pushed, size, values, left: queue.size }
}

function disposable({ EventBus }) {
  const bus = new EventBus()
  const subscription = bus.subscribe()
  const fits = (object, symbol) => symbol === undefined || typeof object[symbol] === 'function'
  const odd = 'undefined' in bus || 'undefined' in subscription
  const result = fits(bus, Symbol.dispose) && fits(subscription, Symbol.asyncDispose) && !odd
  bus.close({ drain: false })
  return result
}

function text(sse) {
  const event = { id: 7, v: 1, type: 'tick', data: { n: 1 } }
  const control = { v: 1, type: 'replay_complete', data: { replayedCount: 0 } }
  return [
    sse.formatSseFrame(event),
    sse.formatSseFrame(event, { epoch: 'e', data: 'payload' }),
    sse.formatSseFrame(control, { data: 'payload' }),
    sse.formatSseCursor({ id: 7, epoch: 'e' }),
    sse.formatSseFields({ id: 'x', event: 'y', data: ' a\r\nb\rc\n', retry: 5 }),
    sse.formatSseComment('one\ntwo'),
    sse.formatSseRetry(15_000),
  ]
}

function cursors({ parseLastEventId, parseCursor, formatCursor }) {
  const invalid = []
  const note = (value) => invalid.push(value)
  return {
    parsed: [
      parseLastEventId('42', note),
      parseLastEventId('', note) ?? 'absent',
      parseLastEventId('9007199254740992', note) ?? 'invalid',
      parseLastEventId('١', note) ?? 'invalid',
      parseCursor('e:5', note),
      parseCursor('e:05', note) ?? 'invalid',
    ],
    formatted: [formatCursor({ id: 5 }), formatCursor({ id: 5, epoch: 'e' })],
    invalid: invalid.length,
  }
}

async function response(root, { sseResponse }) {
  const bus = busOfFive(root.EventBus)
  bus.end()
  const request = (cursor) => new Request('http://localhost/events', { headers: { 'last-event-id': cursor } })
  const resumed = sseResponse(bus, request('e:3'))
  const names = ['content-type', 'cache-control', 'x-accel-buffering', 'content-encoding', 'connection']
  return {
    status: resumed.status,
    headers: names.map((name) => resumed.headers.get(name)),
    body: await resumed.text(),
    head: (await sseResponse(bus, new Request('http://localhost/', { method: 'HEAD' })).text()).length,
    caughtUp: sseResponse(bus, request('e:5')).status,
    otherEpoch: (await sseResponse(bus, request('old:5')).text()).includes('"epoch_mismatch"'),
    left: bus.subscriberCount,
  }
}

async function stream(root, { sseResponse }) {
  const bus = busOfFive(root.EventBus)
  const stop = new AbortController()
  const reader = sseResponse(bus, new Request('http://localhost/'), { signal: stop.signal }).body.getReader()
  const opening = await readUntil(reader, 'data:\n\n')
  bus.publish({ type: 'tick', data: 6 })
  const event = await readUntil(reader, '\n\n')
  stop.abort({ code: 'maintenance', error: 'back soon' })
  const goodbye = await readUntil(reader, undefined)
  const cut = sseResponse(bus, new Request('http://localhost/')).body.getReader()
  await readUntil(cut, 'data:\n\n')
  const during = bus.subscriberCount
  await cut.cancel()
  return { opening, event, goodbye, during, after: bus.subscriberCount }
}

/** What arrives until the text ends with `end`; without one, to the end of the stream. */
export async function readUntil(reader, end) {
  const decoder = new TextDecoder()
  let text = ''
  while (end === undefined || !text.endsWith(end)) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  return text
}
