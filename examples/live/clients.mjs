/**
 * The pages that watch, and what their buttons do to them: cut, hold back, turn away. A page names itself in the
 * query, so that its reconnects are known to be the same client.
 */

/** After an eviction a page that does not read is let read again, to find out what happened to it. */
const READ_AFTER_EVICTION_MS = 2000
const FORGET_AFTER_MS = 60_000

export class Clients {
  #clients = new Map()
  #named = 0

  /** The client of this name, made at its first request. */
  of(id) {
    let client = this.#clients.get(id)
    if (client === undefined) {
      this.#named += 1
      client = {
        id,
        name: `page ${this.#named}`,
        away: false,
        held: false,
        socket: undefined,
        subscription: undefined,
      }
      this.#clients.set(id, client)
    }
    return client
  }

  get(id) {
    return this.#clients.get(id)
  }

  /** A connection of this client begins; all that was done to the one before is over. */
  connected(client, socket) {
    clearTimeout(client.forget)
    client.socket = socket
    client.held = false
    client.evicted = false
    client.subscription = undefined
    socket.once('close', () => {
      if (client.socket !== socket) return
      client.socket = undefined
      client.subscription = undefined
      client.held = false
      client.forget = setTimeout(() => this.#clients.delete(client.id), FORGET_AFTER_MS).unref()
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

  /** One line of the chart per connected client. */
  describe(you) {
    const connected = [...this.#clients.values()].filter((client) => client.subscription !== undefined)
    return connected.map((client) => ({
      name: client.name,
      you: client.id === you,
      queued: client.subscription.queued,
      evicted: client.evicted,
      held: client.held,
      heldBytes: client.held ? (client.socket?.writableLength ?? 0) : 0,
    }))
  }
}
