import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import { expectWhole, lines, runsFrom, usePages } from './pages.ts'

/** How many lines fill the ring and push everything before them out. */
const RING = 256

describeInBrowser('the panel of connectBus and the gate', () => {
  const pages = usePages()

  /** A page on a pipe whose readers both count the first ten lines. */
  async function openWithTen() {
    const demo = await pages.start({ input: 'pipe' })
    const page = await pages.open()
    for (const panel of page.panels) await panel.waitForState('live')
    demo.send(...lines(1, 10))
    for (const panel of page.panels) await panel.waitForTally(10)
    return { demo, page, native: page.native, resuming: page.resuming }
  }

  it('loads the state first and asks the stream for what follows its cursor', async () => {
    const demo = await pages.start({ input: 'pipe' })
    demo.send(...lines(1, RING + 50))
    const page = await pages.open()
    await page.resuming.waitForTally(RING + 50)
    demo.send('one more')
    await page.resuming.waitForTally(RING + 51)
    expect(await page.resuming.marks('state_loaded')).toBe(1)
    expect((await page.resuming.rows()).map(({ data }) => data)).toEqual(['one more'])

    // EventSource has nothing to load a state with: what the ring no longer holds it never counts.
    await page.native.waitForData('one more')
    await page.native.waitForDifference(-50)
  })

  it('survives a cut without a gap, tells attempt and delay, and leaves the gate open', async () => {
    const { demo, page, resuming } = await openWithTen()
    await page.press('cut')
    await resuming.waitForMark('cut')
    demo.send(...lines(11, 20))
    for (const panel of page.panels) await panel.waitForTally(20)

    await resuming.waitForData('line 20')
    expect((await resuming.rows()).map(({ data }) => data)).toEqual(lines(1, 20))
    expect(await runsFrom(resuming, 'cut')).toEqual(['cut', 'note', 'replayed', 'replay_complete'])
    expect(await resuming.happened('cut').textContent()).toMatch(
      /last id seen is 10\. Attempt 1 follows in \d\.\d s/,
    )
    expect(await resuming.part('retry').textContent()).toMatch(/^attempt 1, \d\.\d s$/)
    expect(await resuming.gate()).toEqual({ held: 0, released: 0, contained: 0, reconnects: 1 })
    expect(await resuming.marks('gate_shut')).toBe(0)
    await expectWhole(page)
  })

  it('shuts the gate at a restart of the bus, holds what comes while the state loads, opens it and counts as the server', async () => {
    const { demo, page, resuming } = await openWithTen()
    await page.press('restart')
    await resuming.waitForState('lost')
    demo.send(...lines(11, 15))
    await resuming.waitForGate('shut')
    // The state may hold these or not: either way each counts once.
    demo.send(...lines(16, 20))
    await resuming.waitForGate('open')
    demo.send(...lines(21, 25))
    await resuming.waitForTally(25)

    const { released, contained } = await resuming.gate()
    expect(released + contained).toBe(10)
    expect(contained).toBeGreaterThanOrEqual(5)
    for (const name of ['state_resync_required', 'gate_shut', 'gate_open']) {
      expect(await resuming.marks(name), name).toBe(1)
    }
    await resuming.waitForData('line 25')
    const kinds = await runsFrom(resuming, 'action')
    const order = ['state_resync_required', 'gate_shut', 'replay_complete', 'gate_open', 'live']
    expect(kinds.filter((kind) => order.includes(kind))).toEqual(order)
    await expectWhole(page)
  })

  it('brings back by the state what the ring had lost, which EventSource does not', async () => {
    const { demo, page, native, resuming } = await openWithTen()
    await page.press('leave')
    for (const panel of page.panels) await panel.waitForState('away')
    demo.send(...lines(11, RING + 60))
    for (const panel of page.panels) await panel.waitForMark('state_resync_required')
    await resuming.waitForTally(RING + 60)
    await native.waitForDifference(-50)
    expect(await native.counters()).toMatchObject({ announced: 50, missing: 0 })
    expect(await resuming.counters()).toMatchObject({ announced: 50, missing: 0 })
    expect(await resuming.gate()).toMatchObject({ held: 0, contained: RING, released: 0 })
  })

  it('drops what a server sends again, which EventSource counts twice', async () => {
    const { demo, page, native, resuming } = await openWithTen()
    await page.press('repeat')
    await native.waitForMark('duplicate', 5)
    demo.send('line 11')
    await resuming.waitForTally(11)
    await native.waitForDifference(5)
    expect((await native.counters()).duplicates).toBe(5)
    expect(await resuming.counters()).toMatchObject({ received: 11, duplicates: 5, missing: 0 })
    await resuming.waitForData('line 11')
    expect((await resuming.rows()).map(({ data }) => data)).toEqual(lines(1, 11))
  })

  it('is warned and evicted like any client that is not read, and resumes at once without a gap', async () => {
    const { demo, page, resuming } = await openWithTen()
    await page.press('hold')
    await resuming.waitForState('held')
    demo.send(...lines(11, 130))
    await resuming.waitForState('evicted')
    await resuming.waitForTally(130)
    await resuming.waitForData('line 130')
    expect((await resuming.rows()).map(({ data }) => data)).toEqual(lines(1, 130))
    expect(await resuming.happened('cut').textContent()).toContain('Attempt 1 follows in 0.0 s')
    for (const name of ['slow_client_warning', 'client_evicted']) expect(await resuming.marks(name)).toBe(1)
    expect(await resuming.marks('gate_shut')).toBe(0)
    await expectWhole(page)
  })

  it('goes on after a restart of the whole server with the state of the new one', async () => {
    const { demo, page, resuming } = await openWithTen()
    const port = new URL(demo.url).port
    await demo.stop()
    await resuming.part('state-name').getByText('No server').waitFor()
    const next = await pages.start({ input: 'pipe', port })
    next.send(...lines(1, 3))
    await resuming.waitForMark('gate_open')
    next.send('line 4')
    await resuming.waitForTally(4)
    expect(await resuming.marks('state_resync_required')).toBe(1)
    expect(await page.resuming.counters()).toMatchObject({ duplicates: 0, missing: 0 })
  })

  it.each([
    [1280, 'beside'],
    [390, 'below'],
  ] as const)('is at %i px %s the other one, and both have names', async (width, place) => {
    await pages.start()
    const page = await pages.open(width)
    await page.resuming.waitForState('live')
    const boxOf = (name: string) => page.page.getByRole('region', { name, exact: true }).boundingBox()
    const native = await boxOf('The stream by EventSource')
    const resuming = await boxOf('The stream by connectBus with the gate')
    if (native === null || resuming === null) throw new Error('a panel is missing')
    if (place === 'beside') {
      expect(resuming.y).toBe(native.y)
      expect(resuming.x).toBeGreaterThanOrEqual(native.x + native.width)
      expect(resuming.height).toBe(native.height)
    } else {
      expect(resuming.x).toBe(native.x)
      expect(resuming.y).toBeGreaterThanOrEqual(native.y + native.height)
    }
    await page.press('restart')
    await page.resuming.waitForGate('shut')
    expect(await page.overflow()).toBe(0)
  })
})
