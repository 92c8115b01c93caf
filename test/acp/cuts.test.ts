import { describe, expect, it } from 'vitest'
import { network, WHOLE } from '../support/acp-turn.ts'
import { type Draw, drawFate, drawFrom, type Fate } from '../support/chaos-plan.ts'
import { PROPERTY_TIMEOUT, runs } from '../support/runs.ts'

/** Bytes of the body of a whole turn, about. */
const BODY = 90_000

/** So many connections at the most are cut before the network is left alone. */
const CUTS = 6

/** Cuts most connections for a while. */
function cutting(draw: Draw, cuts = 1 + draw(CUTS)): () => Fate | undefined {
  let left = cuts
  return () => {
    if (left === 0 || draw(4) === 0) return undefined
    left--
    const fate = drawFate(draw, BODY)
    // A request that overtakes the next one takes the stream from it, as any newer one would.
    return fate.way === 'late' ? { ...fate, way: 'reset' } : fate
  }
}

const { numRuns } = runs(12)
const seeds = Array.from({ length: numRuns }, (_, seed) => seed + 1)

describe('a turn through a network that cuts', () => {
  it('brings each chunk once and in order, the permission once, the answer once and last', {
    timeout: PROPERTY_TIMEOUT,
  }, async () => {
    const through = await network()
    for (const seed of seeds) {
      const { read, runs, answers } = await through.turn(cutting(drawFrom(seed)))
      expect(read, `seed ${seed}`).toEqual(WHOLE)
      expect([runs, answers], `seed ${seed}`).toEqual([1, 1])
    }
    expect(through.cuts).toBeGreaterThan(numRuns)
  })

  it('is told once of what a ring too small has lost, then reads the rest, the answer still last', {
    timeout: PROPERTY_TIMEOUT,
  }, async () => {
    const through = await network({ ringSize: 32 })
    let gaps = 0
    for (const seed of seeds) {
      const { read, runs, answers } = await through.turn(cutting(drawFrom(seed)))
      const resyncs = read.filter((one) => one.startsWith('_resumable_bus/state_resync_required'))
      expect([runs, answers], `seed ${seed}`).toEqual([1, 1])
      expect(read.at(-1), `seed ${seed}`).toBe('answer')
      // Wherever something is missing, one notification stands in its place, and nowhere else.
      const expected = withGaps(read)
      expect(read, `seed ${seed}`).toEqual(expected)
      gaps += resyncs.length
    }
    expect(gaps).toBeGreaterThan(0)
  })
})

/** The whole turn with what was not read replaced by one notification a gap. */
function withGaps(read: string[]): string[] {
  const seen = new Set(read)
  const expected: string[] = []
  for (const one of WHOLE) {
    if (seen.has(one)) expected.push(one)
    else if (!expected.at(-1)?.startsWith('_')) expected.push(RESYNC)
  }
  return expected
}

const RESYNC = '_resumable_bus/state_resync_required ring_evicted'
