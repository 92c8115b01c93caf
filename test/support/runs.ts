import fc from 'fast-check'

const asked = process.env.FC_NUM_RUNS ?? ''

// Plans of usual size have ten steps or fewer. Long runs have the time for longer ones.
if (asked !== '') fc.configureGlobal({ baseSize: 'medium' })

/** How many runs a property makes: few by default, `FC_NUM_RUNS` for long ones. */
export function runs(usual: number): { numRuns: number } {
  return { numRuns: asked === '' ? usual : Number(asked) }
}

/** Milliseconds that a property may take; an hour where long runs were asked for. */
export const PROPERTY_TIMEOUT = asked === '' ? 30_000 : 3_600_000
