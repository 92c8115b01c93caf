/** The demo's page in Debian's Chromium, and what a person reads off it. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { describe } from 'vitest'

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

export type Action = 'cut' | 'hold' | 'leave' | 'restart'

/** One event as the page lists it; the cursor is what its `id:` line held. */
export interface Row {
  readonly id: number
  readonly epoch: string
  readonly type: string
  readonly data: string
  readonly delivery: 'live' | 'replayed'
}

/** The list from oldest to newest: events, and marks by name. */
export type Entry = { readonly mark: string; readonly text: string } | { readonly row: Row }

export class DemoPage {
  readonly page: Page
  /** Errors that the page or the browser put on the console; a deliberate cut is none. */
  readonly faults: string[] = []

  private constructor(page: Page) {
    this.page = page
    page.on('pageerror', (error) => this.faults.push(String(error)))
    page.on('console', (message) => {
      // Chromium notes each broken connection, and breaking connections is what these tests do.
      const isCut = /net::ERR_/.test(message.text()) && /\/(events|stats)\?/.test(message.location().url)
      if (message.type() === 'error' && !isCut) this.faults.push(message.text())
    })
  }

  static async open(browser: Browser, url: string, width = 1280): Promise<DemoPage> {
    const opened = new DemoPage(await browser.newPage({ viewport: { width, height: 844 } }))
    await opened.page.goto(url)
    return opened
  }

  press(action: Action): Promise<void> {
    return this.page.click(`#${action}`)
  }

  async state(): Promise<string> {
    return (await this.page.getAttribute('#state', 'data-state')) ?? ''
  }

  waitForState(state: string): Promise<unknown> {
    return this.page.waitForSelector(`#state[data-state="${state}"]`, { timeout: 60_000 })
  }

  /** Waits until the page has seen this many marks of the name since it was opened. */
  waitForMark(name: string, times = 1): Promise<unknown> {
    return this.page.waitForFunction(
      ([wanted, least]) =>
        document.querySelectorAll(`#happened [data-mark="${wanted}"]`).length >= Number(least),
      [name, times] as const,
      { timeout: 60_000 },
    )
  }

  waitForRows(least: number): Promise<unknown> {
    return this.page.waitForFunction(
      (wanted) => document.querySelectorAll('#rows .event').length >= wanted,
      least,
      { timeout: 60_000 },
    )
  }

  /** Waits for an event whose data holds the text. */
  waitForData(text: string): Promise<unknown> {
    return this.page.waitForFunction(
      (wanted) =>
        [...document.querySelectorAll('#rows .data')].some((cell) => cell.textContent?.includes(wanted)),
      text,
      { timeout: 60_000 },
    )
  }

  async marks(name: string): Promise<number> {
    return this.page.locator(`#happened [data-mark="${name}"]`).count()
  }

  /** The page's own counts. */
  async counters(): Promise<
    Record<'received' | 'replayed' | 'announced' | 'duplicates' | 'missing', number>
  > {
    return this.page.evaluate(() => {
      const count = (id: string) => Number(document.getElementById(id)?.textContent?.replaceAll(',', ''))
      return {
        received: count('received'),
        replayed: count('replayed'),
        announced: count('announced'),
        duplicates: count('duplicates'),
        missing: count('missing'),
      }
    })
  }

  async entries(): Promise<Entry[]> {
    return this.page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('#rows > li')].map((item) => {
        const { mark, cursor = '', delivery } = item.dataset
        if (mark !== undefined) return { mark, text: item.textContent ?? '' }
        const [epoch = '', id] = cursor.split(':')
        const text = (part: string) => item.querySelector(part)?.textContent ?? ''
        return {
          row: {
            id: Number(id),
            epoch,
            type: text('.type'),
            data: text('.data'),
            delivery: delivery as 'live' | 'replayed',
          },
        }
      }),
    )
  }

  async rows(): Promise<Row[]> {
    return (await this.entries()).flatMap((entry) => ('row' in entry ? [entry.row] : []))
  }

  /** By how many pixels the page is wider than its window. */
  overflow(): Promise<number> {
    return this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  }

  /** Texts whose contrast to what is behind them is below WCAG's 4.5; those of disabled buttons are exempt. */
  lowContrast(): Promise<string[]> {
    return this.page.evaluate(() => {
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

  close(): Promise<void> {
    return this.page.context().close()
  }
}

/** The ids in the order in which they came, per epoch; a hole or a repetition shows. */
export function idsByEpoch(rows: readonly Row[]): number[][] {
  const epochs = new Map<string, number[]>()
  for (const { epoch, id } of rows) epochs.set(epoch, [...(epochs.get(epoch) ?? []), id])
  return [...epochs.values()]
}

/** `first … last`, each once and in order. */
export const contiguous = (ids: readonly number[]): number[] =>
  Array.from({ length: ids.length }, (_, index) => (ids[0] ?? 0) + index)
