/**
 * The table: what this library needs, divided by what the other one needs, and how much that may be at most. A row
 * without `other` is a figure with a maximum of its own. A row without `atMost` is printed to be compared, and promises
 * nothing.
 */
const fanOut = (against, other, atMost, ours = 'ours') => ({
  what: 'fan-out to 8 subscribers by for await, bursts of 64, ring full',
  unit: 'ns/delivery',
  metric: 'ns',
  contest: 'fan-out',
  ours,
  against,
  other,
  atMost,
})

const batches = (against, other, atMost, ours = 'ours') => ({
  ...fanOut(against, other, atMost, ours),
  what: 'the same fan-out through batches()',
  contest: 'batches',
})

const publish = (what, contest, against, ours, other, atMost) => ({
  what,
  unit: 'ns/event',
  metric: 'ns',
  contest,
  against,
  ours,
  other,
  atMost,
})

const resume = (against, metric, unit, atMost, ours = 'ours', other = undefined) => ({
  what: '10,000 subscribers resume from 0 on a full ring of 8,000, before reading',
  contest: 'resume',
  metric,
  unit,
  against,
  ours,
  other,
  atMost,
})

const idle = (against, ours, atMost) => ({
  what: 'heap of an idle subscriber, no signal',
  contest: 'idle',
  metric: 'bytes',
  unit: 'B/subscriber',
  against,
  ours,
  atMost,
})

const http =
  (burst) =>
  (against, other, atMost, ours = 'ours') => ({
    what: `serveSse, 100 HTTP/1.1 clients, ${burst}: server CPU`,
    unit: 'µs/frame',
    metric: 'us',
    contest: `http, ${burst}`,
    against,
    ours,
    other,
    atMost,
  })
const oneAtATime = http('one at a time')
const inBursts = http('bursts of 16')

const redis = (what, contest, unit, metric, against, other, atMost) => ({
  what: `redis on loopback: ${what}`,
  unit,
  metric,
  contest,
  against,
  ours: 'ours',
  other,
  atMost,
})

const acp = (clients) => ({
  what: `ACP bridge over HTTP, session/update to ${clients}`,
  unit: 'µs/notification',
  metric: 'us',
  contest: `acp, ${clients}`,
  against: "the official SDK's AcpServer",
  ours: 'ours',
  other: 'AcpServer',
  // At least as many in a second.
  atMost: 1,
})

const acpSessions = (against, metric, unit, atMost, other) => ({
  what: 'ACP bridge, 1,000 sessions, a tenth of their streams stuck',
  contest: 'acp, sessions',
  metric,
  unit,
  against,
  ours: 'a tenth stuck',
  other,
  atMost,
})

const toDelivery = (what, contest) =>
  redis(what, contest, 'µs', 'us', 'raw XADD + blocking XREAD', 'commands', 1.3)

const format = (against, ours, other, atMost) => ({
  what: 'formatSseFrame of a 200-byte event',
  unit: 'ns/frame',
  metric: 'ns',
  contest: 'format',
  against,
  ours,
  other,
  atMost,
})

const routing = (against, other) => ({
  what: 'subscribe of ./router, 64 patterns of 64 match, bursts of 64',
  unit: 'ns/delivery',
  metric: 'ns',
  contest: 'routing',
  ours: 'ours',
  against,
  other,
  atMost: 1,
})

const requests = (against, other) => ({
  what: 'request and reply, 30 s to answer',
  unit: 'ns/round trip',
  metric: 'ns',
  contest: 'requests',
  ours: 'ours',
  against,
  other,
  // Half of its round trips per second.
  atMost: 2,
})

const size = (entry, name, atMost) => ({
  what: 'min + gzip, bundled alone',
  unit: 'B',
  metric: 'bytes',
  contest: 'sizes',
  against: entry,
  ours: name,
  atMost,
})

const LARGE = 'publish with the ring full at 1,000,000'
const SMALL = 'publish with the ring full at 8,000'

export const rows = [
  fanOut('limit: bare iterators over an array', 'limit', 1.25),
  fanOut('events.on', 'events.on', 1),
  fanOut('emittery', 'emittery', 1),
  fanOut('it-pushable', 'it-pushable', 1),
  fanOut('repeater', 'repeater', 1),
  fanOut('RxJS ReplaySubject + async iterator', 'rxjs', 1),
  fanOut('byte caps on ÷ limit', 'limit', undefined, 'ours, byte caps on'),

  batches('limit: bare batch drain', 'batch drain', 1.4),
  batches('batches cut from a shared log', 'shared log', undefined),
  batches('byte caps on ÷ limit', 'batch drain', undefined, 'ours, byte caps on'),

  publish(SMALL, 'publish', 'itself at 1,000', 'at 8,000', 'at 1,000', 1.3),
  publish(SMALL, 'publish', 'itself, byte caps on', 'at 8,000, byte caps on', 'at 1,000, byte caps on'),

  publish(LARGE, 'publish, large ring', 'limit: bare circular array', 'ours', 'limit', 1.5),
  publish(LARGE, 'publish, large ring', 'byte caps on ÷ limit', 'ours, byte caps on', 'limit'),

  resume('heap', 'bytes', 'B/subscriber', 1024),
  resume('time', 'us', 'µs/subscriber', 5),
  resume('heap, ring outrun (a resync frame first)', 'bytes', 'B/subscriber', undefined, 'ours, ring outrun'),
  resume('heap ÷ a naive copy', 'bytes', 'B/subscriber', undefined, 'ours', 'naive copy'),
  resume('time ÷ a naive copy', 'us', 'µs/subscriber', undefined, 'ours', 'naive copy'),

  idle('nobody has called next()', 'ours', 768),
  idle('waiting in next()', 'ours, in next()', undefined),

  {
    what: 'reading a replay of 8,000',
    unit: 'ns/event',
    metric: 'ns',
    contest: 'replay',
    against: 'limit: for await over an array',
    ours: 'ours',
    other: 'limit',
    atMost: 1.5,
  },

  oneAtATime('bare res.write of one prebuilt Buffer', 'raw res.write', 1.1),
  oneAtATime('better-sse broadcast', 'better-sse', 0.9),
  oneAtATime('byte caps on ÷ bare res.write', 'raw res.write', undefined, 'ours, byte caps on'),
  inBursts('the same bare loop', 'raw res.write', 0.6),
  inBursts('better-sse broadcast', 'better-sse', 0.35),
  inBursts('byte caps on ÷ the bare loop', 'raw res.write', undefined, 'ours, byte caps on'),

  acp('1 client'),
  acp('100 clients'),
  acpSessions('those that read, ÷ none stuck', 'us', 'µs/notification', 1.25, 'none stuck'),
  // The JSON that its ring may hold, as much again for the events that carry it, and half for the queues of those stuck.
  acpSessions('heap per session, rings full', 'bytes', 'B/session', 163_840),

  {
    what: 'connectBus, a stream of 50 MB in 300-byte events',
    unit: 'ns/event',
    metric: 'ns',
    contest: 'client',
    against: 'limit: eventsource-parser + JSON.parse',
    ours: 'ours',
    other: 'limit',
    // Four fifths of its throughput.
    atMost: 1.25,
  },

  // Four fifths of its throughput.
  redis(
    'publish, 500 on their way',
    'redis publish',
    'µs/event',
    'us',
    'raw pipelined XADD',
    'commands',
    1.25,
  ),
  toDelivery('publish to delivery, p50', 'redis latency'),
  toDelivery('publish to delivery in another process, p50', 'redis latency between processes'),
  redis('1,000 chunks to 10 readers', 'redis stream', 'ms', 'ms', 'resumable-stream', 'resumable-stream', 1),

  format('limit: template literal + JSON.stringify', 'ours', 'limit', 1.2),
  format('both made into bytes', 'ours, as bytes', 'limit, as bytes'),

  {
    what: 'publish to 4,096 subscribers by pattern, of which 4 match',
    unit: 'ns/event',
    metric: 'ns',
    contest: 'matching',
    against: '4 plain subscribers',
    ours: '4 of 4,096',
    other: '4 plain',
    atMost: 3,
  },
  routing('EventEmitter2 with wildcards', 'eventemitter2'),
  routing('emittery, a filter in each listener', 'emittery'),
  routing('mitt, a filter in each listener of *', 'mitt'),
  requests('events.once with a timeout', 'events.once, 30 s'),
  requests('events.once, which waits for ever', 'events.once'),
  {
    what: 'compilePattern with 20 **, against 2,000 segments',
    unit: 'ns/segment',
    metric: 'ns',
    contest: 'matcher',
    against: 'itself against 200 segments',
    ours: '2,000 segments',
    other: '200 segments',
    // Linear: the same per segment, ten times as many of them.
    atMost: 1.5,
  },

  size('.', 'index', 4096),
  size('./sse', 'sse', 1024),
  size('./last-event-id', 'last-event-id', 512),
  size('./web', 'web', 4096),
  size('./node', 'node', undefined),
  size('./client', 'client', 4096),
  size('./router', 'router', 3072),
]
