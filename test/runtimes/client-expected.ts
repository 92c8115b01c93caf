/** What `clientScenario` returns on every runtime. */
export const READ = {
  cut: {
    // Cut behind every third event, in the middle of a block: each once, in order.
    frames: [
      '1 p1',
      '2 p2',
      '3 p3',
      '4 p4',
      '5 p5',
      '6 p6',
      '7 p7',
      '8 p8',
      '9 p9',
      '10 p10',
      'replay_complete',
    ],
    retried: true,
    cursor: 'a:10',
    readyState: 2,
  },
  restarted: {
    frames: ['1 1', '2 2', 'replay_complete', 'state_resync_required', 'replay_complete', '2 20'],
    // 10 of the snapshot, 20 of the event behind it.
    total: 30,
  },
  authorised: [
    {
      id: 'x:1',
      event: 'message',
      cursor: 'x:1',
      data: { method: 'POST', authorization: 'Bearer t', lastEventId: 'own', body: 'grüße 😀' },
    },
    {
      id: 'x:1',
      event: 'message',
      cursor: 'x:1',
      data: { method: 'POST', authorization: 'Bearer t', lastEventId: 'x:1', body: 'grüße 😀' },
    },
  ],
  refused: { name: 'SseHttpError', code: 'sse_http_error', status: 403, body: 'not you' },
  silent: ['1 p1'],
  left: { during: { frame: '4 p4', open: 1 }, after: 0 },
}
