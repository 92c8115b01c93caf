import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { contiguous, DemoPage, describeInBrowser, idsByEpoch, launchBrowser } from './browser.ts'
import { type Demo, endAll, startDemo } from './demo.ts'

let browser: Browser
let demo: Demo
let open: DemoPage[] = []

const openPage = async (width?: number) => {
  const page = await DemoPage.open(browser, demo.url, width)
  open.push(page)
  return page
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`)

/** Nothing lost, nothing twice, by the page's own count and by the ids it shows. */
async function expectWhole(page: DemoPage) {
  expect(await page.counters()).toMatchObject({ duplicates: 0, missing: 0 })
  for (const ids of idsByEpoch(await page.rows())) expect(ids).toEqual(contiguous(ids))
}

/** What is in the list from the first mark of this name on. */
async function entriesFrom(page: DemoPage, name: string) {
  const entries = await page.entries()
  return entries.slice(entries.findIndex((entry) => 'mark' in entry && entry.mark === name))
}

const shape = (entries: Awaited<ReturnType<DemoPage['entries']>>) =>
  entries
    .map((entry) => ('mark' in entry ? entry.mark : entry.row.delivery))
    .filter((kind, index, all) => kind !== all[index - 1])

describeInBrowser('the live page', () => {
  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(async () => {
    await browser?.close()
  })

  afterEach(async () => {
    const faults = open.flatMap((page) => page.faults)
    for (const page of open) await page.close()
    open = []
    await demo?.stop()
    endAll()
    expect(faults).toEqual([])
  })

  describeInBrowser("on the machine's figures", () => {
    beforeEach(async () => {
      demo = await startDemo()
    })

    it('is live as soon as it is open, several events a second', async () => {
      const page = await openPage()
      await page.waitForState('live')
      await page.waitForRows(12)
      const rows = await page.rows()
      expect(new Set(rows.map(({ type }) => type))).toEqual(new Set(['load', 'memory', 'event loop delay']))
      expect(rows.at(-1)?.delivery).toBe('live')
      expect(await page.page.textContent('#source')).toContain('own figures')
      await expectWhole(page)
    })

    it('survives a cut: what was published meanwhile is replayed, nothing is lost and nothing comes twice', async () => {
      const page = await openPage()
      await page.waitForState('live')
      await page.waitForRows(8)
      await page.press('cut')
      await page.waitForMark('replay_complete', 2)
      const { received } = await page.counters()
      await page.waitForRows(received + 4)

      const seen = shape(await entriesFrom(page, 'cut'))
      expect(seen).toEqual(['cut', 'note', 'replayed', 'replay_complete', 'live'])
      expect(await page.marks('state_resync_required')).toBe(0)
      await expectWhole(page)
    })

    it('survives cut after cut', async () => {
      const page = await openPage()
      for (let times = 1; times <= 3; times += 1) {
        await page.waitForMark('replay_complete', times)
        await page.waitForState('live')
        await page.press('cut')
        await page.waitForState('lost')
      }
      await page.waitForMark('replay_complete', 4)
      expect(await page.marks('state_resync_required')).toBe(0)
      await expectWhole(page)
    })

    it('tells a restart of the bus by exactly one resync and goes on with the new epoch', async () => {
      const page = await openPage()
      await page.waitForState('live')
      await page.waitForRows(5)
      const before = (await page.rows()).at(-1)?.epoch
      await page.press('restart')
      await page.waitForMark('replay_complete', 2)
      await page.page.waitForFunction(() => document.querySelector('#rows > li:last-child.event'))

      const entries = shape(await entriesFrom(page, 'action'))
      expect(entries.filter((kind) => kind === 'state_resync_required')).toHaveLength(1)
      expect(entries.indexOf('state_resync_required')).toBeLessThan(entries.indexOf('replay_complete'))
      expect(await page.marks('state_resync_required')).toBe(1)
      const after = (await page.rows()).filter(({ epoch }) => epoch !== before)
      expect(after[0]).toMatchObject({ id: 1, delivery: 'replayed' })
      await expectWhole(page)
    })

    it('survives a restart of the whole server, on the same port', async () => {
      const page = await openPage()
      await page.waitForState('live')
      await page.waitForRows(5)
      const port = new URL(demo.url).port
      await demo.stop()
      await page.page.waitForFunction(
        () => document.getElementById('state-name')?.textContent === 'No server',
      )
      demo = await startDemo({ port })
      await page.waitForMark('state_resync_required')
      await page.waitForState('live')
      expect(await page.marks('state_resync_required')).toBe(1)
      await expectWhole(page)
    })

    it('shows one line of the chart for each page that watches', async () => {
      const page = await openPage()
      const other = await openPage(390)
      await other.waitForState('live')
      await page.page.waitForFunction(() => document.querySelectorAll('#legend li').length === 2)
      expect(await page.page.textContent('#legend')).toMatch(/this page 0 \/ 64.*page \d 0 \/ 64/)
      expect(await page.page.textContent('#chart')).toMatch(/cap.*64.*75\s%.*48.*37\.5\s%.*24/)
      await other.close()
      open = [page]
      await page.page.waitForFunction(() => document.querySelectorAll('#legend li').length === 1)
    })
  })

  describeInBrowser('on lines of a pipe', () => {
    beforeEach(async () => {
      demo = await startDemo({ input: 'pipe' })
    })

    it('shows each line as it comes, says when the input ends, and serves on what is retained', async () => {
      demo.send(...lines(1, 3))
      const page = await openPage()
      await page.waitForData('line 3')
      demo.send('line 4')
      await page.waitForData('line 4')
      expect((await page.rows()).map(({ data, delivery }) => `${data} ${delivery}`)).toEqual([
        'line 1 replayed',
        'line 2 replayed',
        'line 3 replayed',
        'line 4 live',
      ])

      demo.endInput()
      await page.page.waitForSelector('#stream-end:not([hidden])')
      expect(await page.page.textContent('#source')).toBe('Standard input: 4 lines, ended')
      const late = await openPage()
      await late.waitForRows(4)
      expect(idsByEpoch(await late.rows())).toEqual([[1, 2, 3, 4]])
      await page.press('cut')
      await page.waitForMark('replay_complete', 2)
      await page.waitForState('live')
      await expectWhole(page)
    })

    it('takes lines for text and never for markup, and spells control characters out', async () => {
      demo.send(
        '<img src=x onerror="document.title=1"><b>bold</b>',
        '\u001b[31mred\u001b[0m bell\u0007',
        '',
        'naïve 漢字 🚌\r',
      )
      const page = await openPage()
      await page.waitForRows(4)
      expect((await page.rows()).map(({ data }) => data)).toEqual([
        '<img src=x onerror="document.title=1"><b>bold</b>',
        'red bell\\x07',
        '',
        'naïve 漢字 🚌',
      ])
      expect(await page.page.locator('#rows img').count()).toBe(0)
      expect(await page.page.title()).toBe('resumable-bus, live')
    })

    it('warns a page that stops reading, evicts it, and loses nothing when it reads again', async () => {
      const page = await openPage()
      await page.waitForState('live')
      demo.send('before')
      await page.waitForData('before')
      await page.press('hold')
      await page.waitForState('held')
      demo.send(...lines(1, 120))
      await page.waitForState('evicted')
      await page.waitForMark('replay_complete', 2)
      await page.waitForData('line 120')

      const seen = shape(await entriesFrom(page, 'action'))
      expect(seen).toEqual([
        'action',
        'live',
        'slow_client_warning',
        'live',
        'client_evicted',
        'cut',
        'note',
        'replayed',
        'replay_complete',
      ])
      expect(await page.marks('slow_client_warning')).toBe(1)
      expect((await page.rows()).map(({ data }) => data)).toEqual(['before', ...lines(1, 120)])
      await expectWhole(page)
    })

    it('lets a page that reads again in time drain its backlog without an eviction', async () => {
      const page = await openPage()
      await page.waitForState('live')
      await page.press('hold')
      await page.waitForState('held')
      demo.send(...lines(1, 60))
      await page.page.waitForFunction(() =>
        / [45]\d \/ 64/.test(document.getElementById('legend')?.textContent ?? ''),
      )
      await page.press('hold')
      await page.waitForData('line 60')
      expect(await page.marks('slow_client_warning')).toBe(1)
      expect(await page.marks('client_evicted')).toBe(0)
      expect(await page.marks('cut')).toBe(0)
      await expectWhole(page)
    })

    it('announces how many events a page missed that stayed away until the ring had moved on', async () => {
      const page = await openPage()
      await page.waitForState('live')
      demo.send(...lines(1, 10))
      await page.waitForData('line 10')
      await page.press('leave')
      await page.waitForState('away')
      demo.send(...lines(11, 400))
      await page.waitForMark('state_resync_required')
      await page.waitForData('line 400')

      const { bus } = await demo.stats()
      const { announced, received, missing } = await page.counters()
      expect(announced).toBe(bus.earliestAvailableId - 1 - 10)
      expect(received + announced).toBe(400)
      expect(missing).toBe(0)
      expect(await page.page.textContent('#happened [data-mark="state_resync_required"]')).toContain(
        `${announced} events`,
      )
    })

    it('keeps its list bounded and its counts right through a flood', async () => {
      const page = await openPage()
      await page.waitForState('live')
      demo.send(...lines(1, 3000))
      await page.waitForData('line 3000')
      const { received, announced } = await page.counters()
      expect(received + announced).toBe(3000)
      expect(await page.page.locator('#rows > li').count()).toBeLessThanOrEqual(300)
      expect(await page.counters()).toMatchObject({ duplicates: 0, missing: 0 })
    })
  })

  describeInBrowser('at any width', () => {
    it.each([1280, 768, 390, 320])('is no wider than a window of %i px, in no state', async (width) => {
      demo = await startDemo({ input: 'pipe' })
      demo.send('x'.repeat(500), 'word '.repeat(200), ...lines(1, 20))
      const page = await openPage(width)
      await page.waitForRows(22)
      expect(await page.overflow()).toBe(0)
      await page.press('hold')
      await page.waitForState('held')
      expect(await page.overflow()).toBe(0)
      demo.send(...lines(21, 120))
      await page.waitForState('evicted')
      expect(await page.overflow()).toBe(0)
      await page.waitForMark('replay_complete', 2)
      await page.press('restart')
      await page.waitForMark('state_resync_required')
      for (const details of await page.page.locator('#rows summary').all()) await details.click()
      expect(await page.overflow()).toBe(0)
    })

    it.each(['light', 'dark'] as const)(
      'has every text in contrast to its ground in %s',
      async (colorScheme) => {
        demo = await startDemo({ input: 'pipe' })
        demo.send(...lines(1, 20))
        const page = await openPage()
        await page.page.emulateMedia({ colorScheme })
        await page.waitForRows(20)
        await page.press('hold')
        await page.waitForState('held')
        demo.send(...lines(21, 120))
        await page.waitForMark('replay_complete', 2)
        await page.press('restart')
        await page.waitForMark('state_resync_required')
        expect(await page.lowContrast()).toEqual([])
      },
    )
  })
})
