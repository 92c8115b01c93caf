/**
 * The pages, as the network sees them: which sockets are whose, and the cut. Beside it the books of what each page's agent
 * said, taken before it reached the bridge, so that a page can be held against them.
 */

/** How long a page that was cut is kept away: a tunnel, a lift, a change of networks. */
const CUT_MS = 2500
/** The oldest is forgotten for a new one. */
const MAX_PAGES = 100

export class Pages {
  #pages = new Map()
  #cutMs

  constructor(cutMs = CUT_MS) {
    this.#cutMs = cutMs
  }

  of(name) {
    let page = this.#pages.get(name)
    if (page === undefined) {
      page = { sockets: new Set(), awayUntil: 0 }
      this.begin(page)
      this.#pages.set(name, page)
      if (this.#pages.size > MAX_PAGES) this.#pages.delete(this.#pages.keys().next().value)
    }
    return page
  }

  /** Whether a request may come through; the socket of one that may is the page's until it closes. */
  connects(page, socket) {
    if (Date.now() < page.awayUntil) return false
    if (!page.sockets.has(socket)) {
      page.sockets.add(socket)
      socket.once('close', () => page.sockets.delete(socket))
    }
    return true
  }

  /** Resets every socket but the one that asks for it, with no goodbye; returns for how long nothing gets through. */
  cut(page, asking) {
    page.awayUntil = Date.now() + this.#cutMs
    for (const socket of page.sockets) if (socket !== asking) socket.resetAndDestroy()
    return this.#cutMs
  }

  /** A page gets an agent of its own, and empty books. */
  begin(page) {
    page.said = 0
    page.text = ''
    page.over = new Promise((resolve) => {
      /** The agent is over; with a line that says why, where nobody asked it to end. */
      page.end = resolve
    })
  }

  /** Passes on what an agent says, and notes it. */
  watch(page, { readable, writable }) {
    const noting = new TransformStream({
      transform(message, controller) {
        const update = message.method === 'session/update' ? message.params?.update : undefined
        if (update !== undefined) page.said += 1
        if (update?.sessionUpdate === 'agent_message_chunk') page.text += update.content?.text ?? ''
        controller.enqueue(message)
      },
    })
    return { readable: readable.pipeThrough(noting), writable }
  }
}
