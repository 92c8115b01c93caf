/** Sessions to test, on a bus of the vocabulary, and what tells whether anything of one is left. */

import { expect, onTestFinished, vi } from 'vitest'
import type { Diagnostic, EventBus } from '../../src/index.ts'
import { ResumableSession } from '../../src/session/index.ts'
import { type BusOptions, observedBus, publish } from './bus.ts'
import { flush } from './reading.ts'
import { FakeTransport } from './session-transport.ts'

type Options = Partial<ConstructorParameters<typeof ResumableSession>[0]>
type Attach = Parameters<ResumableSession['attach']>[1]

export const FENCE = 'resumable_bus.reply_fence'

export class Scene {
  readonly bus: EventBus
  readonly reports: Diagnostic[]
  readonly session: ResumableSession
  /** Calls of the session's hooks, by name, with their argument where there is one. */
  readonly hooks: string[] = []

  constructor(options: Options = {}, busOptions: BusOptions = {}) {
    const { bus, reports } = observedBus(busOptions)
    this.bus = bus
    this.reports = reports
    const note = (name: string) => (argument?: unknown) => {
      this.hooks.push(argument === undefined ? name : `${name} ${argument}`)
    }
    this.session = new ResumableSession({
      id: 's',
      bus,
      onDetach: note('detach'),
      onReclaim: note('reclaim'),
      onReplace: note('replace'),
      onExpire: note('expire'),
      onCancel: note('cancel'),
      onClose: note('close'),
      ...options,
    })
    onTestFinished(() => {
      this.session.close()
      expect(this.bus.subscriberCount, 'subscribers left by a closed session').toBe(0)
    })
  }

  /** A transport that was attached, and has taken what was there for it. */
  async attach(options?: Attach, transport = new FakeTransport()): Promise<FakeTransport> {
    this.session.attach(transport, options)
    await flushed()
    return transport
  }

  async publish(count = 1): Promise<void> {
    publish(this.bus, count)
    await flushed()
  }

  async reply(...messages: unknown[]): Promise<void> {
    for (const message of messages) this.session.reply(message)
    await flushed()
  }

  /** Stays in its state for so long, and not a millisecond longer. */
  async stays(ms: number): Promise<void> {
    const { state } = this.session
    await pass(ms - 1)
    expect(this.session.state).toBe(state)
    await pass(1)
    expect(this.session.state).not.toBe(state)
  }

  /** The client of a transport is gone, and the session knows. */
  async drop(transport: FakeTransport): Promise<void> {
    transport.drop()
    await flushed()
  }
}

/** A step of a pump takes more turns than a read. */
export async function flushed(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await flush()
}

/** Fakes the clock for the rest of the test; microtasks stay real. */
export function fakeTime(): void {
  vi.useFakeTimers()
  onTestFinished(() => {
    vi.useRealTimers()
  })
}

/** Lets so much of the faked time pass, and everything that it brings about happen. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await flushed()
}
