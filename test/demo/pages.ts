/** One demo and the pages that watch it, for each test afresh, and ended behind it. */
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { DemoPage, launchBrowser } from './browser.ts'
import { type Demo, type DemoOptions, endAll, startDemo } from './demo.ts'
import { contiguous, idsByEpoch, type Panel } from './panel.ts'

export interface Pages {
  /** The one that was started last. */
  readonly demo: Demo
  start(options?: DemoOptions): Promise<Demo>
  open(width?: number): Promise<DemoPage>
  close(page: DemoPage): Promise<void>
}

/** To be called in a `describe`. Whatever a page put on its console fails the test. */
export function usePages(): Pages {
  let browser: Browser
  let demo: Demo | undefined
  const opened = new Set<DemoPage>()

  const started = () => {
    if (demo === undefined) throw new Error('no demo was started')
    return demo
  }

  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(async () => {
    await browser?.close()
  })

  afterEach(async () => {
    const faults = [...opened].flatMap((page) => page.faults)
    for (const page of opened) await page.close()
    opened.clear()
    await demo?.stop()
    endAll()
    expect(faults).toEqual([])
  })

  return {
    get demo() {
      return started()
    },
    async start(options) {
      demo = await startDemo(options)
      return demo
    },
    async open(width) {
      const page = await DemoPage.open(browser, started().url, width)
      opened.add(page)
      return page
    },
    async close(page) {
      opened.delete(page)
      await page.close()
    },
  }
}

export const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`)

/** Nothing lost, nothing twice, by the page's own counts and by the ids that each panel shows. */
export async function expectWhole({ panels }: DemoPage): Promise<void> {
  for (const panel of panels) {
    expect(await panel.counters()).toMatchObject({ duplicates: 0, missing: 0 })
    for (const ids of idsByEpoch(await panel.rows())) expect(ids).toEqual(contiguous(ids))
  }
}

/** The kinds of what a panel lists from the first mark of this name on, each run of one kind once. */
export async function runsFrom(panel: Panel, name: string): Promise<string[]> {
  const entries = await panel.entries()
  return entries
    .slice(entries.findIndex((entry) => 'mark' in entry && entry.mark === name))
    .map((entry) => ('mark' in entry ? entry.mark : entry.row.delivery))
    .filter((kind, index, all) => kind !== all[index - 1])
}
