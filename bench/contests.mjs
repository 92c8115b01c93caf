/**
 * What is measured: each contest is a fixture, the contenders in it, and how often they are sampled. Samples are short
 * (tens of milliseconds) and many, so that what else happens on the machine hits neighbours alike.
 */
const library = {
  fanOut: '../library/fan-out.mjs',
  replay: '../library/replay.mjs',
  serve: '../library/serve.mjs',
  redis: '../library/redis.mjs',
  routing: '../library/routing.mjs',
}

const fanOut = { fixture: 'fan-out', samples: 10, processes: 3, warm: 8 }
const publish = { fixture: 'publish', samples: 10, processes: 3, warm: 8 }
const subscribers = { fixture: 'subscribers', samples: 5, processes: 2, warm: 3, execArgv: ['--expose-gc'] }
const http = { fixture: 'http', samples: 8, processes: 2, warm: 3 }
const redis = { fixture: 'redis', samples: 8, processes: 2, warm: 3 }
const commands = { module: '../limits/redis-commands.mjs' }
const routing = { samples: 10, processes: 3, warm: 8, options: { module: library.routing } }
const acp = { fixture: 'acp', samples: 8, processes: 3, warm: 6 }
const bridges = {
  ours: { module: '../library/acp.mjs' },
  AcpServer: { module: '../peers/acp-server.mjs' },
}
const servers = {
  ours: { module: library.serve },
  'raw res.write': { module: '../limits/raw-write.mjs' },
  'better-sse': { module: '../peers/better-sse.mjs' },
  'ours, byte caps on': { module: library.serve, caps: true },
}

export const contests = {
  'fan-out': {
    ...fanOut,
    options: { bursts: 400 },
    contenders: {
      ours: { module: library.fanOut },
      limit: { module: '../limits/shared-log.mjs' },
      'events.on': { module: '../peers/events-on.mjs' },
      'ours, byte caps on': { module: library.fanOut, caps: true },
      emittery: { module: '../peers/emittery.mjs', bursts: 100 },
      'it-pushable': { module: '../peers/it-pushable.mjs' },
      repeater: { module: '../peers/repeater.mjs', bursts: 20 },
      rxjs: { module: '../peers/rxjs.mjs', bursts: 100 },
    },
  },
  batches: {
    ...fanOut,
    options: { bursts: 1500, batches: true },
    contenders: {
      ours: { module: library.fanOut },
      'batch drain': { module: '../limits/batch-drain.mjs' },
      'shared log': { module: '../limits/shared-log.mjs' },
      'ours, byte caps on': { module: library.fanOut, caps: true },
    },
  },
  publish: {
    ...publish,
    options: { module: library.fanOut, count: 200_000 },
    contenders: {
      'at 8,000': { ringSize: 8000 },
      'at 1,000': { ringSize: 1000 },
      'at 8,000, byte caps on': { ringSize: 8000, caps: true },
      'at 1,000, byte caps on': { ringSize: 1000, caps: true },
    },
  },
  'publish, large ring': {
    ...publish,
    samples: 6,
    processes: 2,
    warm: 2,
    execArgv: ['--max-old-space-size=4096'],
    options: { ringSize: 1_000_000, count: 300_000 },
    contenders: {
      ours: { module: library.fanOut },
      limit: { module: '../limits/circular-array.mjs' },
      'ours, byte caps on': { module: library.fanOut, caps: true, count: 100_000 },
    },
  },
  resume: {
    ...subscribers,
    options: { events: 8000, expected: 8000, count: 10_000 },
    contenders: {
      ours: { module: library.replay },
      'naive copy': { module: '../limits/copied-ring.mjs', count: 1000 },
      'ours, ring outrun': { module: library.replay, published: 20_000 },
    },
  },
  idle: {
    ...subscribers,
    options: { module: library.replay, events: 8000, resume: false, count: 10_000 },
    contenders: { ours: {}, 'ours, in next()': { waiting: true } },
  },
  replay: {
    fixture: 'replay',
    samples: 10,
    processes: 3,
    warm: 6,
    contenders: {
      ours: { module: library.replay },
      limit: { module: '../limits/array-iterator.mjs' },
    },
  },
  'http, one at a time': { ...http, options: { burst: 1, bursts: 150 }, contenders: servers },
  'http, bursts of 16': { ...http, options: { burst: 16, bursts: 40 }, contenders: servers },
  'acp, 1 client': { ...acp, options: { clients: 1, count: 5000 }, contenders: bridges },
  'acp, 100 clients': { ...acp, processes: 2, options: { clients: 100, count: 200 }, contenders: bridges },
  'acp, sessions': {
    fixture: 'acp-sessions',
    samples: 8,
    processes: 1,
    warm: 2,
    execArgv: ['--expose-gc'],
    contenders: { 'a tenth stuck': { stuck: 100 }, 'none stuck': { stuck: 0 } },
  },
  format: {
    fixture: 'format',
    samples: 10,
    processes: 3,
    warm: 10,
    contenders: {
      ours: { module: '../../dist/sse.js' },
      limit: { module: '../limits/template-literal.mjs' },
      'ours, as bytes': { module: '../../dist/sse.js', bytes: true },
      'limit, as bytes': { module: '../limits/template-literal.mjs', bytes: true },
    },
  },
  client: {
    fixture: 'client',
    samples: 6,
    processes: 4,
    warm: 8,
    contenders: {
      ours: { module: '../library/client.mjs' },
      limit: { module: '../limits/parser.mjs' },
    },
  },
  matching: {
    ...routing,
    fixture: 'matching',
    contenders: { '4 of 4,096': { patterns: true }, '4 plain': { patterns: false } },
  },
  routing: {
    ...routing,
    fixture: 'routing',
    contenders: {
      ours: {},
      eventemitter2: { module: '../peers/eventemitter2.mjs' },
      emittery: { module: '../peers/emittery-any.mjs', bursts: 5 },
      mitt: { module: '../peers/mitt.mjs' },
    },
  },
  requests: {
    ...routing,
    fixture: 'requests',
    contenders: {
      ours: {},
      'events.once': { module: '../peers/events-once.mjs' },
      'events.once, 30 s': { module: '../peers/events-once.mjs', timeoutMs: 30_000 },
    },
  },
  matcher: {
    ...routing,
    fixture: 'matcher',
    contenders: { '2,000 segments': { segments: 2000 }, '200 segments': { segments: 200, matches: 2000 } },
  },
  sizes: {
    fixture: 'sizes',
    samples: 1,
    processes: 1,
    warm: 0,
    contenders: Object.fromEntries(
      ['index', 'sse', 'last-event-id', 'web', 'node', 'client', 'router'].map((entry) => [entry, { entry }]),
    ),
  },
  'redis publish': {
    ...redis,
    options: { task: 'publish', count: 20_000 },
    contenders: { ours: { module: library.redis }, commands },
  },
  'redis latency': {
    ...redis,
    options: { task: 'latency', count: 1000 },
    contenders: { ours: { module: library.redis }, commands },
  },
  'redis latency between processes': {
    ...redis,
    options: { task: 'latency between processes', count: 1000 },
    contenders: { ours: { module: library.redis }, commands },
  },
  'redis stream': {
    ...redis,
    samples: 5,
    options: { task: 'stream', count: 1000 },
    contenders: {
      ours: { module: library.redis },
      'resumable-stream': { module: '../peers/resumable-stream.mjs' },
    },
  },
}
