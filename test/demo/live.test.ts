import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import { expectWhole, lines, runsFrom, usePages } from './pages.ts'
import { idsByEpoch } from './panel.ts'

describeInBrowser('the live page', () => {
  const pages = usePages()

  describeInBrowser("on the machine's figures", () => {
    beforeEach(async () => {
      await pages.start()
    })

    it('is live as soon as it is open, several events a second', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      await page.native.waitForRows(12)
      const rows = await page.native.rows()
      expect(new Set(rows.map(({ type }) => type))).toEqual(new Set(['load', 'memory', 'event loop delay']))
      expect(rows.at(-1)?.delivery).toBe('live')
      expect(await page.page.textContent('#source')).toContain('own figures')
      await expectWhole(page)
    })

    it('survives a cut: what was published meanwhile is replayed, nothing is lost and nothing comes twice', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      await page.native.waitForRows(8)
      await page.press('cut')
      await page.native.waitForMark('replay_complete', 2)
      const { received } = await page.native.counters()
      await page.native.waitForRows(received + 4)

      const seen = await runsFrom(page.native, 'cut')
      expect(seen).toEqual(['cut', 'note', 'replayed', 'replay_complete', 'live'])
      expect(await page.native.marks('state_resync_required')).toBe(0)
      await expectWhole(page)
    })

    it('survives cut after cut', async () => {
      const page = await pages.open()
      for (let times = 1; times <= 3; times += 1) {
        await page.native.waitForMark('replay_complete', times)
        await page.native.waitForState('live')
        await page.press('cut')
        await page.native.waitForState('lost')
      }
      await page.native.waitForMark('replay_complete', 4)
      expect(await page.native.marks('state_resync_required')).toBe(0)
      await expectWhole(page)
    })

    it('tells a restart of the bus by exactly one resync and goes on with the new epoch', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      await page.native.waitForRows(5)
      const before = (await page.native.rows()).at(-1)?.epoch
      await page.press('restart')
      await page.native.waitForMark('replay_complete', 2)
      await page.native.find('.rows > li:last-child.event').waitFor()

      const entries = await runsFrom(page.native, 'action')
      expect(entries.filter((kind) => kind === 'state_resync_required')).toHaveLength(1)
      expect(entries.indexOf('state_resync_required')).toBeLessThan(entries.indexOf('replay_complete'))
      expect(await page.native.marks('state_resync_required')).toBe(1)
      const after = (await page.native.rows()).filter(({ epoch }) => epoch !== before)
      expect(after[0]).toMatchObject({ id: 1, delivery: 'replayed' })
      await expectWhole(page)
    })

    it('survives a restart of the whole server, on the same port', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      await page.native.waitForRows(5)
      const port = new URL(pages.demo.url).port
      await pages.demo.stop()
      await page.native.part('state-name').getByText('No server').waitFor()
      await pages.start({ port })
      await page.native.waitForMark('state_resync_required')
      await page.native.waitForState('live')
      expect(await page.native.marks('state_resync_required')).toBe(1)
      await expectWhole(page)
    })

    it('shows one line of the chart for each reader of each page that watches', async () => {
      const page = await pages.open()
      const other = await pages.open(390)
      await other.native.waitForState('live')
      await page.page.waitForFunction(() => document.querySelectorAll('#legend li').length === 4)
      expect(await page.page.textContent('#legend')).toMatch(
        /EventSource 0 \/ 64.*connectBus 0 \/ 64.*page \d, EventSource 0 \/ 64.*page \d, connectBus 0 \/ 64/,
      )
      expect(await page.page.textContent('#chart')).toMatch(/cap.*64.*75\s%.*48.*37\.5\s%.*24/)
      await pages.close(other)
      await page.page.waitForFunction(() => document.querySelectorAll('#legend li').length === 2)
    })
  })

  describeInBrowser('on lines of a pipe', () => {
    beforeEach(async () => {
      await pages.start({ input: 'pipe' })
    })

    it('shows each line as it comes, says when the input ends, and serves on what is retained', async () => {
      pages.demo.send(...lines(1, 3))
      const page = await pages.open()
      await page.native.waitForData('line 3')
      pages.demo.send('line 4')
      await page.native.waitForData('line 4')
      expect((await page.native.rows()).map(({ data, delivery }) => `${data} ${delivery}`)).toEqual([
        'line 1 replayed',
        'line 2 replayed',
        'line 3 replayed',
        'line 4 live',
      ])

      pages.demo.endInput()
      await page.page.waitForSelector('#stream-end:not([hidden])')
      expect(await page.page.textContent('#source')).toBe('Standard input: 4 lines, ended')
      const late = await pages.open()
      await late.native.waitForRows(4)
      expect(idsByEpoch(await late.native.rows())).toEqual([[1, 2, 3, 4]])
      await page.press('cut')
      await page.native.waitForMark('replay_complete', 2)
      await page.native.waitForState('live')
      await expectWhole(page)
    })

    it('takes lines for text and never for markup, and spells control characters out', async () => {
      pages.demo.send(
        '<img src=x onerror="document.title=1"><b>bold</b>',
        '\u001b[31mred\u001b[0m bell\u0007',
        '',
        'naïve 漢字 🚌\r',
      )
      const page = await pages.open()
      await page.native.waitForRows(4)
      expect((await page.native.rows()).map(({ data }) => data)).toEqual([
        '<img src=x onerror="document.title=1"><b>bold</b>',
        'red bell\\x07',
        '',
        'naïve 漢字 🚌',
      ])
      expect(await page.native.find('.rows img').count()).toBe(0)
      expect(await page.page.title()).toBe('resumable-bus, live')
    })

    it('warns a page that stops reading, evicts it, and loses nothing when it reads again', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      pages.demo.send('before')
      await page.native.waitForData('before')
      await page.press('hold')
      await page.native.waitForState('held')
      pages.demo.send(...lines(1, 120))
      await page.native.waitForState('evicted')
      await page.native.waitForMark('replay_complete', 2)
      await page.native.waitForData('line 120')

      const seen = await runsFrom(page.native, 'action')
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
      expect(await page.native.marks('slow_client_warning')).toBe(1)
      expect((await page.native.rows()).map(({ data }) => data)).toEqual(['before', ...lines(1, 120)])
      await expectWhole(page)
    })

    it('lets a page that reads again in time drain its backlog without an eviction', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      await page.press('hold')
      await page.native.waitForState('held')
      pages.demo.send(...lines(1, 60))
      await page.page.waitForFunction(() =>
        / [45]\d \/ 64/.test(document.getElementById('legend')?.textContent ?? ''),
      )
      await page.press('hold')
      await page.native.waitForData('line 60')
      expect(await page.native.marks('slow_client_warning')).toBe(1)
      expect(await page.native.marks('client_evicted')).toBe(0)
      expect(await page.native.marks('cut')).toBe(0)
      await expectWhole(page)
    })

    it('announces how many events a page missed that stayed away until the ring had moved on', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      pages.demo.send(...lines(1, 10))
      await page.native.waitForData('line 10')
      await page.press('leave')
      await page.native.waitForState('away')
      pages.demo.send(...lines(11, 400))
      await page.native.waitForMark('state_resync_required')
      await page.native.waitForData('line 400')

      const { bus } = await pages.demo.stats()
      const { announced, received, missing } = await page.native.counters()
      expect(announced).toBe(bus.earliestAvailableId - 1 - 10)
      expect(received + announced).toBe(400)
      expect(missing).toBe(0)
      expect(await page.native.happened('state_resync_required').textContent()).toContain(
        `${announced} events`,
      )
    })

    it('keeps its list bounded and its counts right through a flood', async () => {
      const page = await pages.open()
      await page.native.waitForState('live')
      pages.demo.send(...lines(1, 3000))
      await page.native.waitForData('line 3000')
      const { received, announced } = await page.native.counters()
      expect(received + announced).toBe(3000)
      expect(await page.native.find('.rows > li').count()).toBeLessThanOrEqual(300)
      expect(await page.native.counters()).toMatchObject({ duplicates: 0, missing: 0 })
    })
  })

  describeInBrowser('at any width', () => {
    it.each([1280, 768, 390, 320])('is no wider than a window of %i px, in no state', async (width) => {
      await pages.start({ input: 'pipe' })
      pages.demo.send('x'.repeat(500), 'word '.repeat(200), ...lines(1, 20))
      const page = await pages.open(width)
      await page.native.waitForRows(22)
      expect(await page.overflow()).toBe(0)
      await page.press('hold')
      await page.native.waitForState('held')
      expect(await page.overflow()).toBe(0)
      pages.demo.send(...lines(21, 120))
      await page.native.waitForState('evicted')
      expect(await page.overflow()).toBe(0)
      await page.native.waitForMark('replay_complete', 2)
      await page.press('restart')
      await page.native.waitForMark('state_resync_required')
      for (const details of await page.page.locator('.rows summary').all()) await details.click()
      expect(await page.overflow()).toBe(0)
    })

    it.each(['light', 'dark'] as const)(
      'has every text in contrast to its ground in %s',
      async (colorScheme) => {
        await pages.start({ input: 'pipe' })
        pages.demo.send(...lines(1, 20))
        const page = await pages.open()
        await page.page.emulateMedia({ colorScheme })
        await page.native.waitForRows(20)
        await page.press('hold')
        await page.native.waitForState('held')
        pages.demo.send(...lines(21, 120))
        await page.native.waitForMark('replay_complete', 2)
        await page.press('restart')
        await page.native.waitForMark('state_resync_required')
        expect(await page.lowContrast()).toEqual([])
      },
    )
  })
})
