/** How many runs a property makes: few by default, `FC_NUM_RUNS` for long ones. */
export function runs(usual: number): { numRuns: number } {
  const asked = process.env.FC_NUM_RUNS
  return { numRuns: asked === undefined || asked === '' ? usual : Number(asked) }
}
