/**
 * Where one node stands in one stream, and what it keeps of it: a window of the newest events, shared by all of its
 * subscribers, that grows at the head as entries are read and never has a hole.
 *
 * An entry that is not the next one of this epoch means that something was lost: the window begins anew, and whoever is
 * subscribed is told so in its place.
 */

import { sizeOf } from '../internal/kept.ts'
import { codeOf, type Link, type Member } from './link.ts'
import type { Listener } from './listener.ts'
import type { CheckedRedisOptions } from './options.ts'
import type { Entry } from './reader.ts'
import { type Appended, eventAt, type Known, numberOf, RedisStream, type Step } from './stream.ts'
import { type View, Window } from './window.ts'

/** A reader gets a chance behind so many events, or a quarter of its cap. */
const MAX_PACE = 64

export class StreamTail implements Member {
  readonly stream: RedisStream
  turn = 0
  isOpen = false
  isClosed = false
  /** Steps on their way. */
  #appending = 0
  /** Somebody else's events are between. */
  #isBehind = false
  /** Settles with the answer to the last step. */
  #answer: Promise<unknown> = Promise.resolve()
  /** Goes on when what this node published is taken as far as it was told. */
  #own: Promise<void> = Promise.resolve()
  #error: unknown
  /** Events given in one go: they come hundreds at a time, and a reader that is not behind is not evicted for that. */
  readonly #pace: number
  #window: Window
  /** The last event there will be. */
  #endsAt = Infinity
  #looking: Promise<Known> | undefined
  readonly #options: CheckedRedisOptions
  readonly #link: Link
  #listener: Listener | undefined
  /** Who waits to ask again. */
  readonly #waiting = new Set<() => void>()

  constructor(options: CheckedRedisOptions, link: Link) {
    this.stream = new RedisStream(link, options)
    this.#pace = Math.max(1, Math.min(MAX_PACE, Math.floor(options.maxQueued / 4)))
    this.#options = options
    this.#link = link
    this.#window = new Window(options, '', 0)
  }

  /**
   * Joins the link, and stands at the end of the stream. Rejects with what Redis says where the key is no stream, and with
   * what it said last where this is closed before; then it has left again.
   */
  async open(): Promise<void> {
    this.#link.join(this)
    try {
      while (!this.isOpen) {
        if (!this.#link.isUp) await this.again(0)
        if (this.isClosed) throw this.#error ?? this.#link.error
        await this.look().catch(async (error) => {
          this.#error = error
          if (codeOf(error) === 'WRONGTYPE') throw error
          await this.again()
        })
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Tells somebody from now on. */
  listen(listener: Listener): void {
    this.#listener = listener
  }

  up(): void {
    this.#listener?.onUp()
  }

  down(error: unknown): void {
    this.#error = error
    this.#listener?.onDown(error)
  }

  /** Settles when what failed may be asked again, or when this is closed. */
  async again(pauseMs?: number): Promise<void> {
    if (this.isClosed) return
    const { settled, cancel } = this.#link.again(pauseMs)
    this.#waiting.add(cancel)
    await settled
    this.#waiting.delete(cancel)
  }

  get key(): string {
    return this.stream.key
  }

  get isTold(): boolean {
    return this.#appending > 0 && !this.#isBehind
  }

  /** The reader has something to expect of it. */
  get isRead(): boolean {
    return this.isOpen && this.head < this.#endsAt
  }

  get epoch(): string {
    return this.#window.epoch
  }

  get head(): number {
    return this.#window.head
  }

  get earliestAvailableId(): number {
    return this.#window.earliestAvailableId
  }

  get ringBytes(): number {
    return this.#window.bytes
  }

  view(): View {
    return this.#window.view()
  }

  /**
   * Looks at the stream, makes it where there is none, and begins anew where it is not the one that was known. Callers of
   * the same moment share a look, which is always one that was sent after they asked.
   */
  look(): Promise<Known> {
    this.#looking ??= Promise.resolve().then(() => {
      this.#looking = undefined
      return this.#look()
    })
    return this.#looking
  }

  /** Reads what is there, without waiting for the reader that all buses share. */
  async readUpTo(id: number): Promise<void> {
    for (let from = -1; this.isOpen && this.head < id && this.head !== from; ) {
      from = this.head
      const { turn } = this
      await this.feed(await this.stream.page(from, id), turn)
    }
  }

  async feed(entries: readonly Entry[], turn: number): Promise<void> {
    const [first] = entries
    if (first !== undefined && numberOf(first[0]) > this.head + 1) await this.#toldOfOwn()
    await this.#feed(entries, turn)
  }

  async #feed(entries: readonly Entry[], turn: number): Promise<void> {
    let left = this.#pace
    for (const [id, [name, text = '', , mark = '']] of entries) {
      if (left-- === 0) {
        await breath()
        left = this.#pace - 1
      }
      if (turn !== this.turn || !this.isOpen) return
      if (id.startsWith('0-')) this.#take(numberOf(id), name as string, text, mark)
      else if (name === 'end') this.#takeEnd(Number(text))
      // It is in the way of all events to come.
      else void this.#stumble(this.head)
    }
  }

  /** Appends a step of this node's own. */
  async append(step: Step): Promise<Appended> {
    this.#appending++
    const answer = this.stream.append(step)
    this.#answer = answer.catch(() => {})
    try {
      return await answer
    } finally {
      // Behind what the answer brings about, which may be the next step.
      if (--this.#appending === 0) setImmediate(() => this.#link.wake())
    }
  }

  /** Takes what a publisher of this node was told, ahead of the reader where nobody else's event is between. */
  feedOwn({ epoch, texts, mark }: Step, first: number): void {
    const entries = texts.map(
      (text, at): Entry => [`0-${first + at}`, [epoch, text, 'mark', `${mark}.${at + 1}`]],
    )
    this.#own = this.#own.then(async () => {
      this.#isBehind = epoch !== this.epoch || first > this.head + 1
      if (this.#isBehind) this.#link.wake()
      else await this.#feed(entries, this.turn)
    })
  }

  /** What a byte cap has driven out of the stream already may be this node's own, and on its way as an answer. */
  async #toldOfOwn(): Promise<void> {
    await this.#answer
    await breath()
    await this.#own
  }

  close(): void {
    this.isClosed = true
    this.isOpen = false
    this.#link.leave(this)
    this.#window.clear()
    for (const cancel of this.#waiting) cancel()
  }

  #take(id: number, epoch: string, text: string, mark: string): void {
    if (id <= this.head) return
    if (epoch !== this.epoch) return void this.#stumble(id)
    if (id > this.head + 1) this.#restart('ring_evicted', epoch, id)
    const event = eventAt(id, text)
    if (event === undefined) return void this.#stumble(id)
    const bytes = this.#options.measured ? sizeOf(event) : 0
    this.#window.append(event, bytes, mark)
    this.#listener?.onEvent(event, bytes, mark)
    if (id === this.#endsAt) this.#endAt(id)
  }

  /** The last event was `id`, which somebody may have deleted. */
  #takeEnd(id: number): void {
    if (id > this.head) this.#restart('ring_evicted', this.epoch, id + 1)
    this.#endAt(id)
  }

  /** Finds out why an entry is not one of this epoch. What was read behind it is read again. */
  async #stumble(id: number): Promise<void> {
    this.turn++
    const { turn } = this
    this.isOpen = false
    try {
      await this.look()
      // The stream is the known one: the entry is not ours, and nobody will ever see what its id stands for.
      if (turn === this.turn) this.#restart('ring_evicted', this.epoch, id + 1)
    } catch {
      // Away, or not to be read: looked at again before it is read again.
    }
  }

  async #look(): Promise<Known> {
    try {
      const known = await this.stream.look(this.#window)
      if (known.firstId > this.head + 1) await this.#toldOfOwn()
      this.#adopt(known)
      return known
    } catch (error) {
      // The key holds something else now: one such key would fail the read of all.
      if (codeOf(error) === 'WRONGTYPE') this.isOpen = false
      throw error
    }
  }

  #adopt({ epoch, earliestAvailableId, firstId, retainedId, lastEventId, ended }: Known): void {
    if (this.epoch === '') {
      this.#window = new Window(this.#options, epoch, lastEventId)
    } else if (epoch !== this.epoch) {
      this.#restart('epoch_reset', epoch, earliestAvailableId)
      // The read under way waits behind the old head, and would not see ids that begin anew.
      this.#link.read()
    } else if (firstId > this.head + 1) this.#restart('ring_evicted', epoch, firstId)
    // The newest event may have emptied the ring, and be still to come here.
    this.#window.firstId = Math.max(firstId, Math.min(retainedId, this.head + 1))
    if (!this.isOpen && !this.isClosed) {
      this.isOpen = true
      this.#listener?.onOpen()
      this.#link.read()
    }
    if (ended) this.#endAt(lastEventId)
  }

  #endAt(id: number): void {
    this.#endsAt = id
    if (this.head >= id) this.#listener?.onEnd()
  }

  #restart(reason: 'ring_evicted' | 'epoch_reset', epoch: string, earliestAvailableId: number): void {
    const lastDeliveredId = this.head
    this.turn++
    this.#endsAt = Infinity
    this.#window = new Window(this.#options, epoch, earliestAvailableId - 1)
    this.#listener?.onRestart({ reason, lastDeliveredId, earliestAvailableId, epoch })
  }
}

/** Lets readers read, and sockets write. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
