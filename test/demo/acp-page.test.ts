import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startAcp, Tether } from './acp.ts'
import { describeInBrowser, faultsOf, launchBrowser, lowContrastOf, overflowOf } from './browser.ts'
import { endAll, type Served } from './demo.ts'

const PATIENCE = { timeout: 60_000 }

describeInBrowser('the page of the ACP example', () => {
  let browser: Browser
  let served: Served | undefined
  let page: Page
  let faults: string[]

  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(async () => {
    await browser?.close()
  })

  afterEach(async () => {
    await page.context().close()
    await served?.stop()
    endAll()
    expect(faults).toEqual([])
  })

  const open = async (agent: string[] = [], width = 1280) => {
    served = await startAcp(...agent)
    page = await browser.newPage({ viewport: { width, height: 844 } })
    // Cutting connections is what these tests do, and an agent that does not start is a 500.
    faults = faultsOf(page, (text, url) => /net::ERR_|\b500\b/.test(text) && url.endsWith('/acp'))
    await page.goto(served.url)
  }
  const waitFor = (selector: string) => page.locator(selector).first().waitFor(PATIENCE)
  const waitForWords = (text: string) => page.locator('.answer', { hasText: text }).waitFor(PATIENCE)
  const ready = () => waitFor('#send:enabled')
  const ask = async (text: string) => {
    await ready()
    await page.fill('#prompt', text)
    await page.click('#send')
  }
  const allow = () => page.locator('.choices button').first().click(PATIENCE)
  /** Words and marks of the answer in their order, each run of one kind once. */
  const runs = () =>
    page
      .locator('.answer > span')
      .evaluateAll((spans) => spans.map(({ dataset, className }) => dataset.mark ?? className))
  const number = async (id: string) => Number(await page.textContent(`#${id}`))

  it('shows the text whole that was cut in the middle, and what of it was replayed', async () => {
    await open()
    await ask('Is it whole?')
    await allow()
    await waitForWords('3. I am')
    await page.click('#cut')
    await waitFor('[data-complete]')

    expect(await page.getAttribute('.verdict', 'data-complete')).toBe('true')
    const answer = (await page.locator('.answer .words').allTextContents()).join('')
    expect(answer.match(/^\d+\./gm)).toEqual(Array.from({ length: 12 }, (_, index) => `${index + 1}.`))
    expect((await runs()).slice(0, 5)).toEqual(['words live', 'cut', 'replay', 'words replayed', 'live'])
    expect(await number('replayed')).toBeGreaterThan(0)
    expect(await number('missing')).toBe(0)
    expect(await page.locator('.permission').count()).toBe(1)
    expect(await page.getAttribute('.tool', 'data-status')).toBe('completed')
  })

  it('asks again for a permission that was asked while it was away, and only for that', async () => {
    await open()
    await ask('May you?')
    await waitFor('.thought')
    await page.click('#cut')
    await allow()
    await waitFor('[data-complete="true"]')
    expect(await page.locator('.permission').count()).toBe(1)
  })

  it('sends the answer to a permission again that was given while it was away', async () => {
    await open()
    await ask('May you?')
    await waitFor('.choices')
    await page.click('#cut')
    await waitFor('[data-state="lost"]')
    await allow()
    await waitFor('[data-complete="true"]')
    expect(await page.textContent('.permission .card-head span')).toBe('you said: Allow once')
  })

  it('stops a turn, also one that waits for a permission, and takes the next', async () => {
    await open()
    await ask('First')
    await waitFor('.choices')
    await page.click('#stop')
    await page.locator('.verdict', { hasText: 'cancelled' }).waitFor(PATIENCE)
    await ask('Second')
    await allow()
    await waitForWords('“Second”')
    expect(await page.textContent('.permission .card-head span')).toBe('withdrawn')
  })

  it('says in one line that there is no such agent, and starts again when asked', async () => {
    await open(['no-such-agent'])
    await page
      .locator('[data-mark="fault"]', { hasText: 'there is no program "no-such-agent"' })
      .waitFor(PATIENCE)
    await page.click('[data-mark="fault"] button')
    await page.locator('[data-mark="fault"]').nth(1).waitFor(PATIENCE)
  })

  describeInBrowser('with an agent that ends', () => {
    let tether: Tether
    beforeEach(async () => {
      tether = await Tether.open()
    })
    afterEach(() => tether.close())

    it('says so with its last words, and begins anew with another', async () => {
      await open(tether.agent('--mortal'))
      await ask('go')
      await page.locator('#state-text', { hasText: 'exit code 7: out of words' }).waitFor(PATIENCE)
      await page.click('[data-mark="fault"] button')
      await ready()
    })

    it('takes its agent along as it is closed', async () => {
      await open(tether.agent())
      await ready()
      const agent = await tether.next()
      await page.goto('about:blank')
      await agent.gone
    })
  })

  it.each([1280, 768, 390, 320])('is no wider than a window of %i px, in no state', async (width) => {
    await open([], width)
    await ask(`${'x'.repeat(300)} and ${'word '.repeat(50)}`)
    await allow()
    await waitForWords('3. I')
    await page.click('#cut')
    await waitFor('[data-state="lost"]')
    expect(await overflowOf(page)).toBe(0)
    await waitFor('[data-complete]')
    expect(await overflowOf(page)).toBe(0)
  })

  it.each(['light', 'dark'] as const)(
    'has every text in contrast to its ground in %s',
    async (colorScheme) => {
      await open()
      await page.emulateMedia({ colorScheme })
      await ask('Is it readable?')
      await waitFor('.choices')
      expect(await lowContrastOf(page)).toEqual([])
      await allow()
      await waitForWords('3. I')
      await page.click('#cut')
      await waitFor('[data-complete]')
      expect(await lowContrastOf(page)).toEqual([])
    },
  )
})
