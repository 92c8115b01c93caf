/** What `scenario.mjs` and `over-http.mjs` come to, on every runtime: written from the contract, not from a run. */

function event(n: number): string {
  return `id: e:${n}\nevent: tick\ndata: {"id":${n},"v":1,"type":"tick","data":${n}}\n\n`
}

const RETRY = 'retry: 3000\n\n'

const RESUMED_AT_3 = `${RETRY}${event(4)}${event(5)}event: replay_complete\ndata: {"v":1,"type":"replay_complete","data":{"replayedCount":2,"lastReplayedEventId":5}}\n\n`

const OPENING_AT_5 = `${RETRY}id: e:5\nevent: cursor\ndata:\n\n`

export const SCENARIO = {
  live: {
    envelope: '{"id":1,"v":1,"type":"greeting","data":{"text":"grüße 😀"},"system":"a","kind":"extra"}',
    frozen: true,
    ids: [2, 3, 'done'],
    left: 0,
    afterClose: true,
  },
  resumed: {
    evicted: ['resync(ring_evicted, 0→3)', 3, 4, 5, 'complete(3, 5)'],
    boundary: [3, 4, 5, 'complete(3, 5)'],
    suffix: [4, 5, 'complete(2, 5)'],
    head: ['complete(0)'],
    ahead: ['resync(epoch_reset, 6→3)', 3, 4, 5, 'complete(3, 5)'],
    otherEpoch: ['resync(epoch_reset, 4→3, epoch_mismatch)', 3, 4, 5, 'complete(3, 5)'],
    earliest: [3, 4, 5, 'complete(3, 5)'],
    last: [4, 5, 'complete(2, 5)'],
    none: [],
  },
  pressed: {
    subscriberCount: 0,
    frames: [1, 2, 3, 4, 5, 'complete(5, 5)', 6, 7, 'warning(2 of 2)', 'evicted(queue_overflow, 7)'],
  },
  ended: { value: 'given', error: 'mine', done: [true, true], left: 0 },
  refused: {
    published: true,
    errors: [
      'subscriber_limit_exceeded',
      'TypeError about lastEventId',
      'RangeError about lastEventId',
      'RangeError about ringSize',
      'RangeError about epoch',
    ],
    next: 1,
  },
  measured: { exact: true, ringEvents: 1 },
  epochs: { formed: true, distinct: 20 },
  queue: { pushed: [true, true, false], size: 2, values: ['a', 'b', 'd'], left: 0 },
  disposable: true,
  text: [
    'id: 7\nevent: tick\ndata: {"id":7,"v":1,"type":"tick","data":{"n":1}}\n\n',
    'id: e:7\ndata: {"n":1}\n\n',
    'event: replay_complete\ndata: {"replayedCount":0}\n\n',
    'id: e:7\nevent: cursor\ndata:\n\n',
    'id: x\nevent: y\ndata:  a\ndata: b\ndata: c\ndata: \nretry: 5\n\n',
    ': one\n: two\n\n',
    'retry: 15000\n\n',
  ],
  cursors: {
    parsed: [42, 'absent', 'invalid', 'invalid', { id: 5, epoch: 'e' }, 'invalid'],
    formatted: ['5', 'e:5'],
    invalid: 3,
  },
  response: {
    status: 200,
    headers: ['text/event-stream', 'no-cache, no-transform', 'no', null, null],
    body: RESUMED_AT_3,
    head: 0,
    caughtUp: 204,
    otherEpoch: true,
    left: 0,
  },
  stream: {
    opening: OPENING_AT_5,
    event: event(6),
    goodbye:
      'event: stream_error\ndata: {"v":1,"type":"stream_error","data":{"error":"back soon","code":"maintenance"}}\n\n',
    during: 1,
    after: 0,
  },
}

export const SERVED = {
  resumed: { status: 200, type: 'text/event-stream', body: RESUMED_AT_3 },
  caughtUp: 204,
  live: { opening: OPENING_AT_5, event: event(6), during: 1, after: 0 },
}
