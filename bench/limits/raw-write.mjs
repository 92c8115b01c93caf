/**
 * Limit for a server: `res.write` of one prebuilt Buffer to every response. The Buffers of a run are built before its
 * clock starts; their text is what the others write, so all contenders put the same bytes into the same chunks.
 */
export function create({ epoch, data }) {
  const responses = []
  const built = []
  let id = 0

  return {
    handle(_req, res) {
      res.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      })
      res.write('retry: 3000\n\n')
      responses.push(res)
    },

    prebuild(count) {
      while (built.length < id + count) {
        const event = { id: built.length + 1, v: 1, type: 'tick', data }
        built.push(Buffer.from(`id: ${epoch}:${event.id}\nevent: tick\ndata: ${JSON.stringify(event)}\n\n`))
      }
    },

    publish() {
      const frame = built[id]
      built[id++] = undefined
      for (let i = 0; i < responses.length; i++) responses[i].write(frame)
    },
  }
}
