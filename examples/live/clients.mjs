/**
 * The pages that watch, and what their buttons do to them: cut, hold back, turn away. A page names itself and which of
 * its readers asks in the query, so that a reconnect is known to be the same client.
 */

/** What a page reads with; the first is meant where a client does not say. */
export const READERS = ['eventsource', 'connectbus']

/** After an eviction a page that does not read is let read again, to find out what happened to it. */
const READ_AFTER_EVICTION_MS = 2000
const FORGET_AFTER_MS = 60_000

export class Clients {
  #clients = new Map()
  /** page → its number. */
  #pages = new Map()
  #numbered = 0

  /** The client that is this reader of this page, made at its first request. */
  of(page, reader) {
    const key = `${page}/${reader}`
    let client = this.#clients.get(key)
    if (client === undefined) {
      if (!this.#pages.has(page)) this.#pages.set(page, ++this.#numbered)
      client = {
        key,
        page,
        reader,
        away: false,
        held: false,
        socket: undefined,
        response: undefined,
        subscription: undefined,
      }
      this.#clients.set(key, client)
    }
    return client
  }

  #forget({ key, page }) {
    this.#clients.delete(key)
    if (this.ofPage(page).length === 0) this.#pages.delete(page)
  }

  ofPage(page) {
    return [...this.#clients.values()].filter((client) => client.page === page)
  }

  /** A connection of this client begins; all that was done to the one before is over. */
  connected(client, socket, response) {
    clearTimeout(client.forget)
    client.socket = socket
    client.response = response
    client.held = false
    client.evicted = false
    client.subscription = undefined
    socket.once('close', () => {
      if (client.socket !== socket) return
      client.socket = undefined
      client.subscription = undefined
      client.held = false
      client.forget = setTimeout(() => this.#forget(client), FORGET_AFTER_MS).unref()
    })
  }

  /**
   * The bus as `serveSse` sees it for one client, so that the chart knows whose backlog is whose. Everything but
   * `subscribe` goes straight to the bus.
   */
  watch(bus, client) {
    return new Proxy(bus, {
      get(target, key) {
        if (key === 'subscribe') {
          return (options) => {
            client.subscription = target.subscribe(options)
            return client.subscription
          }
        }
        const value = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /** Resets the connection: no end of the body, no goodbye. The browser comes back by itself. */
  cut(client) {
    client.socket?.resetAndDestroy()
  }

  /**
   * Stops reading. A browser always reads, so the server's end of its socket is corked instead: the bytes stay in
   * the socket's buffer, `res.write` returns false and `drain` does not come, just as if the peer's receive window
   * were full.
   */
  hold(client) {
    if (client.held || client.socket === undefined) return
    client.held = true
    client.socket.cork()
  }

  /** Whole blocks, so that they fit between those of the stream. */
  write(client, blocks) {
    if (client.socket !== undefined && !client.response.writableEnded) client.response.write(blocks)
  }

  release(client) {
    if (!client.held) return
    client.held = false
    client.socket?.uncork()
  }

  /** Cuts, and turns every reconnect away until the event after the client's cursor has left the ring. */
  turnAway(client) {
    client.away = true
    this.cut(client)
  }

  /** Whether a request with this `Last-Event-ID` is still turned away. */
  isTurnedAway(client, cursor, bus) {
    if (!client.away) return false
    const [, epoch, id] = /^([\w-]+):(\d+)$/.exec(cursor ?? '') ?? []
    client.away = epoch === bus.epoch && Number(id) + 1 >= bus.earliestAvailableId
    return client.away
  }

  letBack(client) {
    client.away = false
  }

  /** Called when the bus has evicted somebody: whoever's subscription is closed while the bus is not. */
  evicted() {
    for (const client of this.#clients.values()) {
      if (client.evicted || !client.subscription?.closed) continue
      client.evicted = true
      if (client.held) setTimeout(() => this.release(client), READ_AFTER_EVICTION_MS).unref()
    }
  }

  /** Which readers of a page are turned away. */
  away(page) {
    return this.ofPage(page)
      .filter((client) => client.away)
      .map((client) => client.reader)
  }

  /** One line of the chart per connected client. */
  describe(page) {
    const connected = [...this.#clients.values()].filter((client) => client.subscription !== undefined)
    return connected.map((client) => ({
      page: this.#pages.get(client.page),
      reader: client.reader,
      you: client.page === page,
      queued: client.subscription.queued,
      evicted: client.evicted,
      held: client.held,
      heldBytes: client.held ? (client.socket?.writableLength ?? 0) : 0,
    }))
  }
}
