import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedAsyncQueue } from '../../src/index.ts'
import { flush } from '../support/reading.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

const DONE = 'done'

interface Entry {
  value: string
  /** Undefined for a forced entry. */
  bytes?: number
  error?: boolean
}

/** A queue as an array that is searched from the front. */
class Model {
  readonly maxSize: number
  readonly maxBytes: number
  entries: Entry[] = []
  closed = false
  waiting = 0
  /** What reads were answered, in order; a failed run shows as its message. */
  read: string[] = []
  counter = 0

  constructor(maxSize: number, maxBytes: number) {
    this.maxSize = maxSize
    this.maxBytes = maxBytes
  }

  get size(): number {
    return this.entries.filter((entry) => entry.bytes !== undefined).length
  }

  get bytes(): number {
    return this.entries.reduce((sum, entry) => sum + (entry.bytes ?? 0), 0)
  }

  append(entry: Entry): void {
    if (this.waiting === 0) this.entries.push(entry)
    else {
      this.waiting--
      this.read.push(entry.value)
    }
  }

  push(value: string, bytes: number): boolean {
    const fits = this.size < this.maxSize && this.bytes + bytes <= this.maxBytes
    if (this.closed || !fits) return false
    this.append({ value, bytes })
    return true
  }

  next(): void {
    const entry = this.entries.shift()
    if (entry !== undefined) this.read.push(entry.value)
    else if (this.closed) this.read.push(DONE)
    else this.waiting++
  }

  close(drain: boolean): void {
    this.closed = true
    if (!drain) this.entries = []
    for (; this.waiting > 0; this.waiting--) this.read.push(DONE)
  }
}

class Real {
  readonly queue: BoundedAsyncQueue<string>
  readonly read: string[] = []

  constructor(maxSize: number, maxBytes: number) {
    this.queue = new BoundedAsyncQueue({ maxSize, maxBytes })
  }

  next(): void {
    this.queue.next().then(
      (result) => this.read.push(result.done === true ? DONE : result.value),
      (error: Error) => this.read.push(error.message),
    )
  }
}

type Command = fc.AsyncCommand<Model, Real>

/** Runs a command on both, then compares everything that shows. */
abstract class Compared implements Command {
  abstract act(model: Model, real: Real): void

  check(_model: Readonly<Model>): boolean {
    return true
  }

  async run(model: Model, real: Real): Promise<void> {
    this.act(model, real)
    await flush()
    expect(real.read).toEqual(model.read)
    expect([real.queue.size, real.queue.bytes, real.queue.closed]).toEqual([
      model.size,
      model.bytes,
      model.closed,
    ])
  }

  toString(): string {
    return `${this.constructor.name}(${JSON.stringify(Object.values(this))})`
  }
}

class Push extends Compared {
  readonly bytes: number
  constructor(bytes: number) {
    super()
    this.bytes = bytes
  }
  act(model: Model, { queue }: Real): void {
    const value = `v${model.counter++}`
    expect(queue.push(value, this.bytes)).toBe(model.push(value, this.bytes))
  }
}

class ForcePush extends Compared {
  override check(model: Readonly<Model>): boolean {
    return !model.closed
  }
  act(model: Model, { queue }: Real): void {
    const value = `f${model.counter++}`
    queue.forcePush(value)
    model.append({ value })
  }
}

class ForcePushAll extends Compared {
  readonly count: number
  readonly fails: boolean
  constructor(count: number, fails: boolean) {
    super()
    this.count = count
    this.fails = fails
  }
  override check(model: Readonly<Model>): boolean {
    return !model.closed
  }
  act(model: Model, { queue }: Real): void {
    const run = model.counter++
    const values = Array.from({ length: this.count }, (_, i) => `r${run}.${i}`)
    const failure = `failure ${run}`
    const { fails } = this
    queue.forcePushAll(
      (function* () {
        yield* values
        if (fails) throw new Error(failure)
      })(),
    )
    for (const value of values) model.append({ value })
    if (fails) model.append({ value: failure })
  }
}

class Next extends Compared {
  readonly times: number
  constructor(times: number) {
    super()
    this.times = times
  }
  act(model: Model, real: Real): void {
    for (let i = 0; i < this.times; i++) {
      real.next()
      model.next()
    }
  }
}

class NextBatch extends Compared {
  override check(model: Readonly<Model>): boolean {
    // A failed run splits a batch; that is tested by example.
    return model.entries.length > 0 && !model.entries.some((entry) => entry.value.startsWith('failure'))
  }
  act(model: Model, real: Real): void {
    real.queue.nextBatch().then((result) => real.read.push(...(result.value ?? [DONE])))
    model.read.push(...model.entries.splice(0, 256).map((entry) => entry.value))
  }
}

class Close extends Compared {
  readonly drain: boolean
  constructor(drain: boolean) {
    super()
    this.drain = drain
  }
  act(model: Model, { queue }: Real): void {
    queue.close({ drain: this.drain })
    model.close(this.drain)
  }
}

class Return extends Compared {
  act(model: Model, { queue }: Real): void {
    void queue.return()
    model.close(false)
  }
}

const frequent: fc.Arbitrary<Command>[] = [
  // Coarse, so that sums meet the cap exactly.
  fc.nat(3).map((bytes) => new Push(bytes * 20)),
  fc.nat(3).map((bytes) => new Push(bytes * 20)),
  fc.constant(0).map(() => new ForcePush()),
  fc.tuple(fc.nat(5), fc.boolean()).map(([count, fails]) => new ForcePushAll(count, fails)),
  fc.integer({ min: 1, max: 5 }).map((times) => new Next(times)),
  fc.integer({ min: 1, max: 5 }).map((times) => new Next(times)),
  fc.constant(0).map(() => new NextBatch()),
]

const final: fc.Arbitrary<Command>[] = [
  fc.boolean().map((drain) => new Close(drain)),
  fc.constant(0).map(() => new Return()),
]

describe('the queue', () => {
  it(
    'does what an array does, whatever is done to it',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 12 }),
          fc.integer({ min: 3, max: 12 }).map((bytes) => bytes * 20),
          fc.commands(frequent, { maxCommands: 50 }),
          fc.commands([...frequent, ...final], { maxCommands: 12 }),
          async (maxSize, maxBytes, open, closing) => {
            const model = new Model(maxSize, maxBytes)
            const real = new Real(maxSize, maxBytes)
            const setup = () => ({ model, real })
            await fc.asyncModelRun(setup, open)
            await fc.asyncModelRun(setup, closing)
            await fc.asyncModelRun(setup, [new Close(true), new Next(model.entries.length + 1)])
            expect([real.queue.size, real.queue.bytes]).toEqual([0, 0])
          },
        ),
        runs(250),
      )
    },
    PROPERTY_TIMEOUT,
  )
})
