import { createClient } from 'redis'
import { createResumableStreamContext } from 'resumable-stream/generic'
import { chunk } from '../fixtures/redis-events.mjs'

export async function open(url, key) {
  const publisher = await createClient({ url }).connect()
  const subscriber = await publisher.duplicate().connect()
  const context = createResumableStreamContext({ waitUntil: null, keyPrefix: key, publisher, subscriber })
  let streams = 0

  return {
    async stream(count, readers) {
      const id = `${++streams}`
      let made = 0
      let begin
      const begun = new Promise((resolve) => {
        begin = resolve
      })
      const source = new ReadableStream({
        // The source waits until everybody reads, which is the cheaper case: nobody needs the past.
        start: () => begun,
        pull(controller) {
          if (made < count) controller.enqueue(chunk(made++))
          else controller.close()
        },
      })
      const first = await context.createNewResumableStream(id, () => source)
      const others = Array.from({ length: readers - 1 }, () => context.resumeExistingStream(id))
      const all = [first, ...(await Promise.all(others))]
      begin()
      const lengths = await Promise.all(all.map(chunksOf))
      await publisher.del(`${key}:rs:sentinel:${id}`)
      return lengths
    },
  }
}

async function chunksOf(stream) {
  let text = ''
  for await (const part of stream) text += part
  return text.split('chunk ').length - 1
}
