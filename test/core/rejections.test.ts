import { describe, expect, it } from 'vitest'
import { type Diagnostic, EventBus } from '../../src/index.ts'

/** The diagnostics of one publish. */
function refusalOf(input: unknown, options = {}): Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const bus = new EventBus({ ...options, onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) })
  bus.publish({ type: 'fine' })
  expect(bus.publish(input as never)).toBeUndefined()
  return diagnostics
}

const throwing = {
  type: 'a',
  get data(): never {
    throw new Error('no')
  },
}

describe('a refused event is reported with its reason', () => {
  it.each([
    ['invalid_input', null, undefined],
    ['invalid_input', 'text', undefined],
    ['invalid_type', {}, undefined],
    ['invalid_type', { type: '' }, undefined],
    ['invalid_type', { type: 'a\nb' }, undefined],
    ['reserved_type', { type: 'cursor' }, 'cursor'],
    ['reserved_type', { type: 'client_evicted' }, 'client_evicted'],
  ])('%s: %o', (reason, input, eventType) => {
    const expected = { type: 'event_rejected', reason, ...(eventType && { eventType }) }
    expect(refusalOf(input)).toEqual([expected])
  })

  it('invalid_input, where a getter throws', () => {
    expect(refusalOf(throwing)).toMatchObject([{ reason: 'invalid_input' }])
  })

  it('not_serialisable, where bytes are capped', () => {
    const expected = { type: 'event_rejected', reason: 'not_serialisable', eventType: 'a' }
    expect(refusalOf({ type: 'a', data: 1n }, { maxRingBytes: 1000 })).toEqual([expected])
  })

  it('ids_exhausted, past the greatest safe integer', () => {
    const expected = { type: 'event_rejected', reason: 'ids_exhausted', eventType: 'a' }
    const startAfterId = Number.MAX_SAFE_INTEGER - 1
    expect(refusalOf({ type: 'a' }, { startAfterId })).toEqual([expected])
  })
})
