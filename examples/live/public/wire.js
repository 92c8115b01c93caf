/**
 * A `fetch` that counts what the server sends twice. The client drops it, so nobody behind the client can.
 */
import { parts } from './ledger.js'

/** `fetch` is for the client; `duplicates` came on any of its connections. */
export function createWire() {
  let duplicates = 0
  let last = { epoch: undefined, id: 0 }

  function count(block) {
    const cursor = /^id: (.+)$/m.exec(block)?.[1]
    // A block with an id and without data moves a cursor and is no event.
    if (cursor === undefined || !/^data: ./m.test(block)) return
    const { epoch, id } = parts(cursor)
    if (epoch === last.epoch && id <= last.id) duplicates += 1
    else last = { epoch, id }
  }

  function counting() {
    const decoder = new TextDecoder()
    let text = ''
    return new TransformStream({
      transform(chunk, controller) {
        controller.enqueue(chunk)
        const blocks = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
        text = blocks.pop()
        for (const block of blocks) count(block)
      },
    })
  }

  return {
    async fetch(url, init) {
      const response = await fetch(url, init)
      return response.body ? new Response(response.body.pipeThrough(counting()), response) : response
    },
    get duplicates() {
      return duplicates
    },
  }
}
