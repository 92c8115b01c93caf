/** The examples' pages in Debian's Chromium, and what a person reads off that of the live demo. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { describe } from 'vitest'
import { GatedPanel, Panel } from './panel.ts'

const PATH = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const INSTALL = 'apt-get install -y chromium'
const installed = existsSync(PATH)

if (!installed && !process.env.CI) {
  console.warn(
    `\nThe demo's page is NOT tested: there is no Chromium at ${PATH}. Install it with: ${INSTALL}\n`,
  )
}

/** `describe`, skipped aloud where no Chromium is installed. In CI a missing one fails. */
export const describeInBrowser = (title: string, body: () => void) =>
  installed || process.env.CI
    ? describe(title, body)
    : describe.skip(`${title} (no Chromium; install it with: ${INSTALL})`, body)

export async function launchBrowser(): Promise<Browser> {
  if (!installed) throw new Error(`no Chromium at ${PATH}; install it with: ${INSTALL}`)
  return chromium.launch({
    executablePath: PATH,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** By how many pixels a page is wider than its window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
}

/** Texts whose contrast to what is behind them is below WCAG's 4.5; those of disabled buttons are exempt. */
export function lowContrastOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const channels = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number)
    const luminance = (colour: string) => {
      const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
        const share = value / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
    const ground = (element: Element): string => {
      const { backgroundColor } = getComputedStyle(element)
      if (channels(backgroundColor)[3] !== 0) return backgroundColor
      return element.parentElement ? ground(element.parentElement) : 'rgb(255, 255, 255)'
    }
    const hasText = (element: Element) =>
      [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim())
    return [...document.body.querySelectorAll('*')]
      .filter((element) => hasText(element) && element.checkVisibility() && !element.closest(':disabled'))
      .flatMap((element) => {
        const style = getComputedStyle(element)
        const ink = luminance(element.namespaceURI?.endsWith('svg') ? style.fill : style.color)
        const behind = luminance(ground(element))
        const ratio = (Math.max(ink, behind) + 0.05) / (Math.min(ink, behind) + 0.05)
        return ratio < 4.5 ? [`${ratio.toFixed(2)} ${element.className} ${element.textContent}`] : []
      })
  })
}

/** What a page or its browser puts on the console as an error, but for those about these addresses that are deliberate. */
export function faultsOf(page: Page, deliberate: (text: string, url: string) => boolean): string[] {
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    const isFault = message.type() === 'error' && !deliberate(message.text(), message.location().url)
    if (isFault) faults.push(message.text())
  })
  return faults
}

export type Action = 'cut' | 'hold' | 'leave' | 'repeat' | 'restart'

export class DemoPage {
  readonly page: Page
  readonly native: Panel
  readonly resuming: GatedPanel
  /** Errors that the page or the browser put on the console; a deliberate cut is none. */
  readonly faults: string[]

  private constructor(page: Page) {
    this.page = page
    this.native = new Panel(page, 'eventsource')
    this.resuming = new GatedPanel(page, 'connectbus')
    // Chromium notes each broken connection, and breaking connections is what these tests do.
    this.faults = faultsOf(
      page,
      (text, url) => /net::ERR_/.test(text) && /\/(events\?|stats\?|snapshot)/.test(url),
    )
  }

  static async open(browser: Browser, url: string, width = 1280): Promise<DemoPage> {
    const opened = new DemoPage(await browser.newPage({ viewport: { width, height: 844 } }))
    await opened.page.goto(url)
    return opened
  }

  get panels(): Panel[] {
    return [this.native, this.resuming]
  }

  press(action: Action): Promise<void> {
    return this.page.click(`#${action}`)
  }

  overflow(): Promise<number> {
    return overflowOf(this.page)
  }

  lowContrast(): Promise<string[]> {
    return lowContrastOf(this.page)
  }

  close(): Promise<void> {
    return this.page.context().close()
  }
}
