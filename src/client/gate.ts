/**
 * The gate between a stream and a reducer: once events are missing, what comes is held until the state was reloaded, and
 * then exactly the events that the reloaded state does not contain are let through.
 */

import type { AnyEvents, EventMap, Frame, StateResyncRequired } from '../index.ts'
import { check, option, wrongType } from '../internal/check.ts'
import { asyncDispose } from '../internal/dispose.ts'
import type { ResyncGate, ResyncGateOptions } from './gate-types.ts'
import { CURSOR } from './place.ts'

const RESYNC = 'state_resync_required'
const done = () => ({ value: undefined, done: true }) as const

interface Read<F> {
  readonly resolve: (result: IteratorResult<F, undefined>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Holds the events behind a `state_resync_required` until the state was reloaded; each is then applied exactly once, or
 * contained in the state.
 *
 * ```ts
 * let state = { cursor: 'e1:0', total: 0 }
 * let latest: StateResyncRequired | undefined
 * const gate = createResyncGate({
 *   onResync: async (frame) => {
 *     latest = frame
 *     const loaded = await loadState()
 *     // A further resync loads again, and whichever load comes last must not set the older state.
 *     if (frame === latest) state = loaded
 *     return loaded.cursor
 *   },
 * })
 * for await (const frame of gate.through(connectBus('/events'))) {
 *   if (frame.type === 'paid') state.total += frame.data.amount
 * }
 * ```
 *
 * What is kept: up to `maxHeld` frames. Who misses what: nobody, as long as a state is loaded after its resync frame came
 * and says which event is the last one in it.
 *
 * - `resynced(cursor)`, or the value of the awaited `onResync`, opens the gate: events above the cursor are let through.
 *   The rest is dropped, also what comes later, since the replay may still run. `through` yields what was held at once;
 *   without it, what `onResync` released comes with the next `push`. A cursor string of another epoch than the last
 *   resync's is ignored.
 * - A further resync, also one that comes before everything let through was handed over, drops what is held, calls
 *   `onResync` again and voids the results of earlier calls.
 * - More than `maxHeld` drops what is held, the frame too many included, and gives
 *   `state_resync_required{reason: 'gate_overflow'}` in its place: the same as a further resync.
 * - `onResync` that returns nothing or rejects leaves the gate shut. The rejection is thrown once: by `through`, which then
 *   ends its source, or by the next `push`, which takes its frame nevertheless and gives it with the push after it.
 * - `passthrough` that throws counts as false.
 * - `through` reads its source only as it is read itself. Once the source has ended, also by its own signal, it waits for
 *   an `onResync` that still runs, then ends: abort what loads the state with the same signal. `return` and `throw` settle
 *   at once, also while a read is pending. The gate keeps its state: shut it stays shut, and what it was given comes
 *   through the next `through` or `push`.
 *
 * Throws `TypeError` or `RangeError` naming the option; `push`, `through` and `resynced` name their argument.
 */
export function createResyncGate<Events extends EventMap<Events> = AnyEvents>(
  options: ResyncGateOptions<Events> = {},
): ResyncGate<Events> {
  const onResync = option(options, 'onResync', 'function')
  const passthrough = option(options, 'passthrough', 'function', ({ id }: Frame<Events>) => id === undefined)
  const passes = (frame: Frame<Events>) => {
    try {
      return passthrough(frame)
    } catch {
      return false
    }
  }
  const maxHeld = option(options, 'maxHeld', 'number', 1024)

  let shut = false
  let held: Frame<Events>[] = []
  /** Of the last resync; empty where that named none. */
  let epoch = ''
  /** The first id that is not lost if what is held is dropped. */
  let earliestAvailableId = 0
  /** The last event that the state contained as the gate was opened. */
  let loadedId = -1
  /** The run of `onResync` whose result counts. */
  let load: object | undefined
  /** Of such a run; not thrown yet. */
  let failure: { readonly error: unknown } | undefined
  /** Let through and not handed over yet, from `handed` on. */
  let ready: Frame<Events>[] = []
  let handed = 0
  /** One for each `through` that is read. */
  const readers = new Set<() => void>()

  const takeReady = () => {
    const frames = ready.slice(handed)
    ready = []
    handed = 0
    return frames
  }

  const takeFailure = () => {
    const failed = failure
    failure = undefined
    return failed
  }

  const serveAll = () => {
    for (const serve of readers) serve()
  }

  const shutFor = (frame: StateResyncRequired) => {
    shut = true
    held = []
    // From a server it may be anything: what it does not say, it does not restrict.
    const data: Partial<StateResyncRequired['data']> = frame.data ?? {}
    epoch = data.epoch ?? ''
    earliestAvailableId = data.earliestAvailableId ?? 0
    // The state that is loaded next contains what was not handed over yet: applied on top, it would count twice.
    ready = takeReady().filter(passes)
    ready.push(frame)
    load = undefined
    if (onResync) void reload(frame)
  }

  const reload = async (frame: StateResyncRequired) => {
    const own = {}
    load = own
    try {
      const cursor = await onResync?.(frame)
      if (load === own && cursor !== undefined) open(cursor)
    } catch (error) {
      if (load === own) failure = { error }
    }
    if (load === own) load = undefined
    serveAll()
  }

  const open = (cursor: number | string) => {
    const loaded = CURSOR.exec(
      typeof cursor === 'number' ? `${cursor}` : check('cursor', cursor, 'string or number'),
    )
    const [, named = epoch, text] = loaded ?? []
    const id = Number(text)
    if (!Number.isSafeInteger(id)) throw new RangeError('cursor must be <id> or <epoch>:<id>')
    if (!shut || (epoch !== '' && named !== epoch)) return
    loadedId = id
    for (const frame of held) {
      if (frame.id === undefined || frame.id > loadedId) ready.push(frame)
    }
    shut = false
    held = []
    load = undefined
  }

  const judge = (frame: Frame<Events>) => {
    const { id, type } = check('frame', frame, 'object')
    if (id === undefined && type === RESYNC) shutFor(frame as StateResyncRequired)
    else if (!(shut || (id as number) <= loadedId) || passes(frame)) ready.push(frame)
    else if (shut) {
      held.push(frame)
      if (id !== undefined) earliestAvailableId = id + 1
      if (held.length > maxHeld) {
        const data = { reason: 'gate_overflow', earliestAvailableId, epoch } as const
        shutFor(Object.freeze({ v: 1, type: RESYNC, data }))
      }
    }
  }

  const through = (source: AsyncIterable<Frame<Events>>) => {
    if (typeof source?.[Symbol.asyncIterator] !== 'function')
      throw wrongType('source', 'async iterable', source)
    const input = source[Symbol.asyncIterator]()
    // A set keeps its order: a queue whose ends are both touched in O(1).
    const reads = new Set<Read<Frame<Events>>>()
    /** What the source answered; judged only once all that is ready was read, since it may shut the gate. */
    let answer: IteratorResult<Frame<Events>, unknown> | undefined
    /** What the source failed with: its own reader's affair. */
    let broken: { readonly error: unknown } | undefined
    let asked = false
    let serving = false
    let over = false

    const first = () => {
      const [read] = reads
      reads.delete(read as Read<Frame<Events>>)
      return read
    }

    const answered = (result: typeof answer) => {
      // A source that answers nothing gives no frame, which is refused; waited for, it would never come.
      answer = Object(result)
      if (over) keepAnswer()
      else serve()
    }

    /** Its source counts this frame as read, so whoever goes on from there does not get it again. */
    const keepAnswer = () => {
      try {
        if (answer?.done === false) judge(answer.value)
      } catch {
        // Nobody reads any more, so nobody is there to be told.
      }
    }

    const serve = () => {
      // What a callback does to the gate meanwhile is met by the loop that called it.
      if (serving) return
      serving = true
      try {
        while (reads.size > 0) {
          if (handed < ready.length) {
            first()?.resolve({ value: ready[handed++] as Frame<Events>, done: false })
            if (handed === ready.length) takeReady()
          } else if (broken) throw broken.error
          else if (failure) throw takeFailure()?.error
          else if (!answer) {
            if (asked) break
            asked = true
            Promise.resolve(input.next()).then(answered, (error) => {
              broken = { error }
              answered(done())
            })
          } else if (!answer.done) {
            const { value } = answer
            answer = undefined
            asked = false
            judge(value)
          } else if (!load) finish()
          else break
        }
      } catch (error) {
        first()?.reject(error)
        finish()
      }
      serving = false
    }

    const finish = () => {
      if (over) return
      over = true
      readers.delete(serve)
      for (const read of reads) read.resolve(done())
      reads.clear()
      keepAnswer()
      // Not waited for: a generator that is stuck settles its `return` behind what it is stuck in.
      if (!answer?.done) (async () => input.return?.())().catch(() => {})
    }

    const frames: AsyncIterableIterator<Frame<Events>, undefined> & AsyncDisposable = {
      next: () =>
        new Promise((resolve, reject) => {
          if (over) return resolve(done())
          readers.add(serve)
          reads.add({ resolve, reject })
          serve()
        }),
      async return(value) {
        finish()
        return { value: value as undefined, done: true }
      },
      async throw(error) {
        finish()
        throw error
      },
      [Symbol.asyncIterator]: () => frames,
      async [asyncDispose]() {
        finish()
      },
    }
    return frames
  }

  return {
    push(frame) {
      const failed = takeFailure()
      judge(frame)
      if (failed) throw failed.error
      return takeReady()
    },
    through,
    resynced(cursor) {
      open(cursor)
      serveAll()
      return readers.size > 0 ? [] : takeReady()
    },
    get shut() {
      return shut
    },
  }
}
